import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { execute, makeHome, request, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

const home = await makeHome()
t.teardown(home.remove)
const late = join(home.folder, 'late', 'skills')
await mkdir(home.skills, { recursive: true })
// Patient: a writer that pauses may be held up by a busy machine for long.
await writeFile(join(home.skills, '..', 'skillet.toml'), '[plugin.skills-directory]\npatience_ms = 3000\n')
const server = await startServer(home, ['--no-bundled-skills', '--skills', late])
t.teardown(server.kill)
const { url } = server

interface Health { status: string, quarantined: { name: string, path: string, error: string, serving?: boolean }[] }
const health = async (): Promise<Health> => (await request(url, '/api/health')).body as unknown as Health
const broken = async (name: string): Promise<Health['quarantined'][number] | undefined> =>
  (await health()).quarantined.find(skill => skill.name === name)
const names = async (): Promise<string[]> =>
  ((await request(url, '/api/skills')).body['skills'] as { name: string }[]).map(({ name }) => name)
const output = async (skill: string, tool = 'say'): Promise<unknown> => (await execute(url, skill, tool)).body['output']
const found = async (query: string): Promise<unknown> =>
  ((await request(url, '/api/search', { query })).body['results'] as { skill_name: string }[])[0]?.skill_name
const running = async (): Promise<unknown> => (await request(url, '/api/executions?status=running')).body['total']

const script = (says: string): string => `import { word } from './lib/word.js'
export default { description: 'Says ${says}', tools: {
  say: { description: 'Say ${says}', run: () => word + ' ${says}' },
  wait: { description: 'Wait for a file', parameters: { file: { type: 'string', description: 'The file', required: true } }, async run ({ file }) {
    const { existsSync } = await import('node:fs')
    while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 10))
    return word + ' ${says}'
  } }
} }
`
const native = (says: string): string =>
  `description = "Prints ${says}"\n[[tools]]\nname = "say"\ndescription = "Print ${says}"\ncommand = ["printf", "${says}"]\n`

async function put (path: string, text: string, directory = home.skills): Promise<void> {
  await mkdir(join(directory, path, '..'), { recursive: true })
  await writeFile(join(directory, path), text)
}

t.test('a skill that is written appears, to lists, calls and searches; one that is edited, renamed or removed follows', async t => {
  await put('parrot/lib/word.js', 'export const word = "polly"\n')
  await put('parrot/skill.js', script('hello'))
  await put('printer/skill.toml', native('paper'))
  await until(async () => (await names()).join() === 'parrot,printer')
  t.equal(await output('parrot'), 'polly hello')
  t.equal(await output('printer'), 'paper')
  await until(async () => await found('print paper') === 'printer')

  await put('parrot/lib/word.js', 'export const word = "jack"\n')
  await until(async () => await output('parrot') === 'jack hello')
  await put('parrot/skill.js', script('goodbye'))
  await until(async () => await output('parrot') === 'jack goodbye')
  await writeFile(join(home.skills, 'printer', '.skill.toml.swp'), native('ink'))
  await rename(join(home.skills, 'printer', '.skill.toml.swp'), join(home.skills, 'printer', 'skill.toml'))
  await until(async () => await output('printer') === 'ink')
  await until(async () => await found('print ink') === 'printer')

  await rename(join(home.skills, 'printer'), join(home.skills, 'plotter'))
  await until(async () => (await names()).join() === 'parrot,plotter')
  t.equal((await execute(url, 'printer', 'say')).status, 404)
  await rm(join(home.skills, 'plotter'), { recursive: true })
  await until(async () => (await names()).join() === 'parrot')
  t.match(await health(), { status: 'healthy' })
})

t.test('half a save does no harm, and what stays broken is told while the last good version serves', async t => {
  const file = join(home.skills, 'parrot', 'skill.js')
  const whole = script('again')
  await writeFile(file, '')
  t.equal(await output('parrot'), 'jack goodbye')
  await until(async () => await broken('parrot') !== undefined) // empty for longer than an editor takes
  t.match(await broken('parrot'), { path: file, error: /^skill\.js has no default export/, serving: true })
  t.match(await health(), { status: 'healthy' })
  for (const call of [1, 2, 3]) t.equal(await output('parrot'), 'jack goodbye', `call ${call}`)

  await writeFile(file, whole.slice(0, 100))
  await until(async () => /can't be built/.test((await broken('parrot'))?.error ?? ''))
  t.equal(await output('parrot'), 'jack goodbye')
  await appendFile(file, whole.slice(100))
  await until(async () => await broken('parrot') === undefined)
  await until(async () => await output('parrot') === 'jack again')

  await t.test('a save in steps, however long its pauses, never shows a broken skill', async t => {
    const seen = new Set<string>()
    const done = new AbortController()
    const watching = (async () => {
      while (!done.signal.aborted) {
        const { status, body } = await execute(url, 'parrot', 'say')
        seen.add(status === 200 ? String(body['output']) : `${status}`)
        if (await broken('parrot') !== undefined) seen.add('told')
      }
    })()
    for (let i = 0; i < 5; i++) {
      const text = script(`step ${i}`)
      await writeFile(file, '')
      await new Promise(resolve => setTimeout(resolve, 200)) // what an editor may take
      await writeFile(file, text.slice(0, 150))
      await new Promise(resolve => setTimeout(resolve, 200))
      await writeFile(file, text)
    }
    await until(async () => await output('parrot') === 'jack step 4')
    done.abort()
    await watching
    for (const one of seen) t.match(one, /^jack (again|step \d)$/)
  })

  await rm(file)
  await until(async () => !(await names()).includes('parrot'))
  await put('parrot/skill.js', script('back'))
  await until(async () => await output('parrot') === 'jack back')
})

t.test('a run in flight ends on the version it began with, and so does one whose folder is gone', async t => {
  const go = join(home.folder, 'go')
  const old = execute(url, 'parrot', 'wait', { file: go })
  await until(async () => await running() === 1)
  await put('parrot/lib/word.js', 'export const word = "flint"\n')
  await put('parrot/skill.js', script('anew'))
  await until(async () => await output('parrot') === 'flint anew')
  const young = execute(url, 'parrot', 'wait', { file: go })
  await until(async () => await running() === 2)
  await rm(join(home.skills, 'parrot'), { recursive: true })
  await until(async () => !(await names()).includes('parrot'))
  await writeFile(go, '')
  t.match(await old, { status: 200, body: { output: 'jack back' } })
  t.match(await young, { status: 200, body: { output: 'flint anew' } })
})

t.test('a directory that was not there, one that is replaced, links, and thousands of files at once', async t => {
  t.match(await broken('skills'), { path: late, error: /does not exist/ })
  await put('kite/skill.toml', native('wind'), late)
  await until(async () => await output('kite') === 'wind')
  t.equal(await broken('skills'), undefined)
  await rename(late, `${late}-old`)
  await put('kite/skill.toml', native('storm'), late)
  await until(async () => await output('kite') === 'storm')
  await put('kite/skill.toml', native('calm'), late)
  await until(async () => await output('kite') === 'calm')

  const elsewhere = join(home.folder, 'elsewhere')
  await put('note.txt', 'nothing yet', elsewhere)
  await symlink(elsewhere, join(late, 'linked'))
  await symlink(late, join(elsewhere, 'around'))
  await put('skill.toml', native('far'), elsewhere)
  await until(async () => await output('linked') === 'far')
  await put('skill.toml', native('farther'), elsewhere)
  await until(async () => await output('linked') === 'farther')

  await Promise.all(Array.from({ length: 300 }, (_, i) => put(`many-${i}/skill.toml`, native(`many ${i}`), late)))
  await Promise.all(Array.from({ length: 300 }, (_, i) => put(`many-${i}/note.txt`, 'noise', late)))
  await until(async () => (await names()).length === 302)
  t.equal(await output('many-299'), 'many 299')
  await Promise.all(Array.from({ length: 300 }, (_, i) => rm(join(late, `many-${i}`), { recursive: true })))
  await until(async () => (await names()).length === 2)
  const reloads = server.stderr()
    .split('\n')
    .filter(line => line.includes('the skills changed') && line.includes('many-'))
  t.ok(reloads.length < 60, `${reloads.length} reloads for 1,200 changes`)
  t.equal(await server.stop(), 0, 'it ends in order')
})
