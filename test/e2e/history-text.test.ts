import t from 'tap'
import { makeHome, request, skillet, startServer } from '../support/program.ts'

const idsOf = ({ executions }: Page): string[] => executions.map(({ id }) => id)

interface Page { executions: { id: string, tool_name: string }[], total: number, unindexed?: number }

t.test('the history is searched by words over HTTP and in the terminal, within the rights of a key', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  const keyOf = async (...flags: string[]): Promise<string> =>
    (JSON.parse((await skillet(home, ['key', 'create', ...flags, '--json'])).stdout) as { key: string }).key
  const all = await keyOf('all')
  const narrow = await keyOf('narrow', '--skill', 'text')
  const server = await startServer(home, ['--auth-required', '--log-level', 'error'])
  t.teardown(server.kill)
  const ask = async (path: string, body?: unknown, key = all): ReturnType<typeof request> =>
    await request(server.url, path, body, { headers: { 'x-api-key': key, 'content-type': 'application/json' } })
  const find = async (text: string, more = '', key = all): Promise<Page> =>
    (await ask(`/api/executions?text=${encodeURIComponent(text)}${more}`, undefined, key)).body as unknown as Page
  const run = async (skill_name: string, tool_name: string, parameters: object): Promise<string | undefined> => {
    await ask('/api/execute', { skill_name, tool_name, parameters })
    return idsOf((await ask('/api/executions?limit=1')).body as unknown as Page)[0]
  }

  const convert = { from: 'json', to: 'yaml' }
  const ids = [
    await run('data', 'convert', { ...convert, text: '{"city": "Zürich", "état": 1}' }),
    await run('data', 'convert', { ...convert, text: '{"city": "東京都"}' }),
    await run('data', 'query', { text: '{"zurich": ', expression: '@' })
  ]
  t.same(idsOf(await find('ZURICH')), [ids[2], ids[0]], 'newest first')
  t.same(idsOf(await find('zurich', '&status=failed')), [ids[2]], 'with a filter')
  t.same(idsOf(await find('zurich', '&limit=1&offset=1')), [ids[0]])
  t.same(idsOf(await find('京都')), [ids[1]])
  t.same(idsOf(await find('conv* "city"')), [ids[1], ids[0]])
  const nothing = { executions: { length: 0 }, total: 0, unindexed: undefined }
  t.match(await find('nowhere'), nothing)
  t.match(await find('zurich', '', narrow), nothing, 'nothing of what a key may not see')
  t.same((await find('data', '', narrow)).total, 0)

  for (const [text, message] of [
    ['"-* ', /text must have a letter or a digit/], ['', /text/], ['x'.repeat(1_001), /text/],
    ['a'.repeat(10_240), /text/],
    ['z*', /3 characters before the asterisk/],
    [Array.from({ length: 33 }, (_, i) => i).join(' '), /33 different words; give 32/]
  ] as const) {
    const { status, body } = await ask(`/api/executions?text=${encodeURIComponent(text)}`)
    t.match({ status, ...body }, { status: 400, error: { code: 'INVALID_PARAMETERS', message } }, text.slice(0, 20))
  }
  for (const odd of ['%00zurich', '%EF%BF%BFzurich', 'zurich%27%20OR%201=1--', 'NEAR(zurich)', '%F0%9F%A6%8A+zurich']) {
    t.equal((await ask(`/api/executions?text=${odd}`)).status, 200, odd)
  }

  const { stdout } = await skillet(home, ['history', '--text', 'zurich', '--json'])
  t.same(idsOf(JSON.parse(stdout) as Page), [ids[2], ids[0]], 'beside the server, in the same files')
  t.match(await skillet(home, ['history', '--text', 'nowhere']), { status: 0, stdout: /Nothing was run that fits/ })
  t.match(await skillet(home, ['history', '--text', '!']), { status: 2, stderr: /letter or a digit/ })
  t.match(await skillet(home, ['history', '--text', 'x', '--follow']), { status: 2, stderr: /exclude each other/ })
  const { stdout: exported } = await skillet(home, ['history', 'export', '--text', '京都'])
  t.same(exported.trimEnd().split('\n').map(line => (JSON.parse(line) as { id: string }).id), [ids[1]])
})
