import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { changesOf, fileChanges, inWords, snapshotOf, type Described } from '../../../plugins/toolkit/trust/snapshot.ts'
import { TrustFile } from '../../../plugins/toolkit/trust/trust-file.ts'
import type { TrustRecord } from '../../../plugins/toolkit/trust/record.ts'

const record = (path: string, name = 'demo'): TrustRecord => ({
  name, path, hash: 'a'.repeat(64), files: { 'skill.toml': 'x' }, at: '2026-01-01T00:00:00.000Z', by: 'me',
  snapshot: { description: '', instructions: '', permissions: {}, tools: {} }
})

async function configuration (t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-trust-file-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'skillet')
}

t.test('records are kept in a file of the user, and a folder has one', async t => {
  const directory = await configuration(t)
  const file = new TrustFile(directory)
  t.same(file.read(), [])
  t.equal(await file.stamp(), 'absent')
  await file.add(record('/b'))
  await file.add(record('/a', 'other'))
  await file.add({ ...record('/b'), by: 'you' })
  t.same(file.read().map(({ path, by }) => [path, by]), [['/a', 'me'], ['/b', 'you']])
  t.equal((await stat(file.path)).mode & 0o777, 0o600)
  t.equal((await stat(directory)).mode & 0o777, 0o700)
  const stamp = await file.stamp()
  t.same((await file.remove(({ name }) => name === 'demo')).map(({ path }) => path), ['/b'])
  t.not(await file.stamp(), stamp)
  t.same(await file.remove(({ name }) => name === 'demo'), [])
})

t.test('a file that others can write, that is damaged, or that is none, is refused with what to do', async t => {
  const directory = await configuration(t)
  const file = new TrustFile(directory)
  await file.add(record('/a'))
  const stamp = await file.stamp()
  await chmod(file.path, 0o620)
  t.not(await file.stamp(), stamp, 'a change of its mode is noticed')
  t.throws(() => file.read(), new Error(`other users can write to ${file.path}; run: chmod go-w ${file.path}`))
  await t.rejects(file.add(record('/b')), /other users can write/)
  await chmod(file.path, 0o600)
  for (const text of ['', '{', '[]', '{"version": 2, "skills": []}', '{"version": 1, "skills": [{}]}']) {
    await writeFile(file.path, text)
    t.throws(() => file.read(), /is damaged: .*; mend it, or remove it and trust the skills again/, text)
  }
  await rm(file.path)
  await mkdir(file.path)
  t.throws(() => file.read(), /is no file/)
  await rm(file.path, { recursive: true })
  await chmod(directory, 0o777)
  await t.rejects(file.add(record('/a')), /other users can write to .*skillet; run: chmod go-w/)
})

t.test('a link to a file of others is refused like the file', {
  skip: process.getuid?.() === 0 ? false : 'needs a file of another user'
}, async t => {
  const directory = await configuration(t)
  const file = new TrustFile(directory)
  await mkdir(directory)
  const foreign = join(directory, 'foreign')
  await writeFile(foreign, '{"version": 1, "skills": []}')
  await promisify(execFile)('chown', ['65534', foreign])
  await symlink(foreign, file.path)
  t.throws(() => file.read(), /belongs to another user/)
})

const writer = `
import { TrustFile } from ${JSON.stringify(new URL('../../../plugins/toolkit/trust/trust-file.js', import.meta.url).href)}
const [directory, who] = process.argv.slice(1)
const file = new TrustFile(directory)
for (let i = 0; i < 10; i++) {
  await file.add({ ...${JSON.stringify(record('/PATH'))}, path: '/' + who + i })
}
`

t.test('of two processes that write at once, neither loses a record', async t => {
  const directory = await configuration(t)
  const run = (who: string): Promise<unknown> =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', writer, directory, who], {
      cwd: fileURLToPath(new URL('.', import.meta.url))
    })
  await Promise.all(['a', 'b', 'c'].map(run))
  t.equal(new TrustFile(directory).read().length, 30)
  t.match(JSON.parse(await readFile(join(directory, 'trust.json'), 'utf8')), { version: 1 })
})

t.test('what changed is named: tools, parameters, permissions, texts and files', async t => {
  const tool = {
    name: 'say',
    description: 'Say',
    parameters: [],
    input_schema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    secrets: []
  } satisfies Described['tools'][number]
  const before: Described = {
    description: 'Demo',
    instructions: 'Do',
    permissions: { network: false, write: [], env: [], secrets: [] },
    tools: [tool, { ...tool, name: 'old' }]
  }
  t.same(changesOf(snapshotOf(before), snapshotOf(structuredClone(before))), [])
  const after: Described = {
    description: 'Demo 2', instructions: 'Do it', permissions: { ...before.permissions, network: true },
    tools: [
      {
        ...tool,
        description: 'Say it',
        command: { program: 'sh', parts: [], dashes: [] },
        input_schema:
          { type: 'object', properties: { word: { type: 'integer' }, more: { type: 'string' } }, required: [] }
      },
      { ...tool, name: 'new' }
    ]
  }
  const changes = changesOf(snapshotOf(before), snapshotOf(after))
  t.same(changes, [
    { what: 'permission network changed', before: 'false', after: 'true' },
    { what: 'parameter say:word changed', before: 'required {"type":"string"}', after: '{"type":"integer"}' },
    { what: 'parameter say:more added' },
    { what: 'the description of tool say changed', before: 'Say', after: 'Say it' },
    { what: 'what tool say runs changed' },
    { what: 'tool old removed' },
    { what: 'tool new added' },
    { what: 'the instructions changed' },
    { what: 'the description changed', before: 'Demo', after: 'Demo 2' }
  ])
  t.equal(inWords(changes, 3), 'permission network changed, parameter say:word changed and 7 more changes')
  t.equal(
    inWords(fileChanges({ a: '1', b: '1', c: '1' }, { a: '1', b: '2', d: '1' })),
    'file b changed, file c removed, file d added'
  )
})
