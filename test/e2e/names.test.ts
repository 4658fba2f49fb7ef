import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import t from 'tap'
import { connect, execute as callAgent, textOf } from '../support/mcp.ts'
import { execute, launch, launcher, makeHome, request, skillet, startServer } from '../support/program.ts'

/**
 * Parameters are called as their authors call them, through every door; and one broken tool is no reason to do without
 * the others.
 */

const home = await makeHome()
t.teardown(home.remove)
const names = [
  '_type', '$filter', '@id', 'x.y', 'a b', 'a=b', '1', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'a/b~c',
  'line\nend', '', 'é'
]
const put = async (skill: string, file: string, text: string): Promise<void> => {
  await mkdir(join(home.skills, skill), { recursive: true })
  await writeFile(join(home.skills, skill, file), text)
}
await put('odd', 'skill.js', `const names = ${JSON.stringify(names)}
const parameter = { type: 'string', description: 'x' }
export default {
  description: 'Odd names',
  tools: {
    own: { description: 'Tells what it is given', parameters: Object.fromEntries(names.map(name => [name, parameter])), run: given => JSON.stringify(Object.entries(given)) },
    absent: { description: 'Finds nothing that was not given', parameters: { constructor: parameter, toString: { ...parameter, default: 'filled' } }, run: given => String(given.constructor) + given['toString'] },
    hush: { description: 'Keeps a secret', parameters: { 'my key/x': { type: 'object', description: 'x', secret: true, properties: { a: { type: 'string' } }, additionalProperties: false } }, run: () => 'ok' },
    broken: { description: 'x', timeout: 3, run: () => 'ok' }
  }
}
`)
await put('shell', 'skill.toml', `description = "Odd names in commands"
[[tools]]
name = "say"
description = "Says"
command = ["printf", "%s|", "--", "{{$filter}}", "{{x.y}}", "{{constructor}}", ["{{toString}}"]]
[[tools.parameters]]
name = "$filter"
type = "string"
description = "x"
required = true
[[tools.parameters]]
name = "x.y"
type = "string"
description = "x"
default = "preset"
[[tools.parameters]]
name = "constructor"
type = "string"
description = "x"
default = "made"
[[tools.parameters]]
name = "toString"
type = "string"
description = "x"
[[tools]]
name = "bad"
description = "x"
command = ["echo", "{{nothing}}"]
`)
const given = Object.fromEntries(names.map(name => [name, `is ${name}`]))
const entries = JSON.stringify(Object.entries(given))

t.test('over HTTP', async t => {
  const server = await startServer(home)
  t.teardown(server.kill)
  const { url } = server
  const ran = await execute(url, 'odd', 'own', given)
  t.match(ran, { status: 200, body: { output: entries } })
  t.same(
    (await request(url, `/api/executions/${String(ran.body['execution_id'])}`)).body['parameters'], given, 'the record'
  )
  for (let i = 0; i < 20; i++) {
    t.match(
      await execute(url, 'odd', 'absent', {}),
      { status: 200, body: { output: 'undefinedfilled' } },
      'alone, and in a batch'
    )
  }
  t.match(await execute(url, 'odd', 'absent', { constructor: 'given' }), { body: { output: 'givenfilled' } })
  t.match(await execute(url, 'odd', 'absent', { valueOf: 'x' }), {
    status: 400,
    body: { error: { message: /unknown field "valueOf"/ } }
  })
  t.match(await request(url, '/api/execute', '{"skill_name":"odd","tool_name":"own","parameters":{"__proto__":"x"}}'), {
    status: 400,
    body: { error: { message: /__proto__/ } }
  })
  t.match(await execute(url, 'shell', 'say', { $filter: 'a' }), { status: 200, body: { output: 'a|preset|made|' } })
  t.match(await execute(url, 'shell', 'say', { $filter: 'a', toString: 'b' }), {
    status: 200,
    body: { output: 'a|preset|made|b|' }
  })
  const refused = await execute(url, 'odd', 'hush', { 'my key/x': { canary: 1 } })
  t.match(refused, {
    status: 400,
    body: { error: { message: 'parameters/my key/x holds something that does not fit its description' } }
  })

  const { body: { status, quarantined } } = await request(url, '/api/health')
  t.equal(status, 'healthy')
  t.match(quarantined, [
    { name: 'odd', tool: 'broken', error: /^skill\.js\/tools\/broken has an unknown field "timeout"/ },
    { name: 'shell', tool: 'bad', error: /placeholder \{\{nothing\}\} has no parameter/ }
  ])
  t.match(await execute(url, 'shell', 'bad'), {
    status: 404,
    body: { error: {
      code: 'TOOL_NOT_FOUND',
      message: /^The skill "shell" has no tool "bad": it could not be loaded: .*\{\{nothing\}\}/
    } }
  })
  t.equal(await server.stop(), 0)
})

t.test('over MCP', async t => {
  const { client } = await connect(new StdioClientTransport({
    command: launcher, args: [...launch, 'mcp'], env: home.env as Record<string, string>, cwd: home.folder
  }))
  t.teardown(() => client.close())
  t.match(textOf(await callAgent(client, 'odd', 'own', given)), JSON.stringify(entries).slice(1, -1))
  t.match(
    textOf(
      await client.callTool({ name: 'list_skills', arguments: { detail: 'full' } }) as Parameters<typeof textOf>[0]
    ),
    /\\"line\\\\nend\\" string: x/,
    'a name of several lines is in quotes'
  )
  t.match(textOf(await callAgent(client, 'shell', 'bad')), /it could not be loaded/)
})

t.test('by the command line', async t => {
  const run = (...args: string[]): ReturnType<typeof skillet> => skillet(home, ['run', ...args])
  t.same(JSON.parse((await run('odd:own', '--params', JSON.stringify(given))).stdout), Object.entries(given))
  const odd =
    await run('odd:own', '_type=a', '$filter=b', '@id=c', 'x.y=d', 'a b=e', 'a=b=f=g', 'constructor=h')
  t.same(
    JSON.parse(odd.stdout),
    [['_type', 'a'], ['$filter', 'b'], ['@id', 'c'], ['x.y', 'd'], ['a b', 'e'], ['a=b', 'f=g'], ['constructor', 'h']]
  )
  t.match(await run('shell:bad'), { status: 3, stderr: /has no tool "bad": it could not be loaded: .*\{\{nothing\}\}/ })
  t.match((await skillet(home, ['info', 'shell:bad'])).stderr, /it could not be loaded/)
  t.match((await skillet(home, ['list'])).stdout, /shell:say.*\n {2}shell:bad +could not be loaded: /)
  t.match(await skillet(home, ['doctor']), { status: 1, stdout: /problem +tool shell:bad +.*\{\{nothing\}\}/ })
  const { stdout } = await skillet(home, ['__complete', '--', 'run', 'odd:own', ''])
  t.same(
    stdout.trim().split('\n').map(line => line.split('\t')[0]),
    ['1=', '_type=', '@id=', 'x.y=', 'constructor=', 'toString=', 'hasOwnProperty=', 'valueOf='],
    'what a shell would change is not offered'
  )
})
