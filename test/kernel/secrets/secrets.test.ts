import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { secretBytesMax, SecretFile } from '../../../kernel/secrets/secrets.ts'

async function place (t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'skillet-secrets-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'config', 'skillet')
}

const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

t.test('what is set is given to that skill only, and another process sees the change at once', async t => {
  const directory = await place(t)
  const writer = new SecretFile(directory, {})
  const reader = new SecretFile(directory, {})
  t.same(reader.of('git', ['TOKEN']), { values: {}, missing: ['TOKEN'] })
  await writer.set('git', 'TOKEN', ' välue "1"\n')
  t.same(reader.of('git', ['TOKEN', 'OTHER']), { values: { TOKEN: ' välue "1"\n' }, missing: ['OTHER'] })
  t.same(reader.of('hash', ['TOKEN']), { values: {}, missing: ['TOKEN'] })
  await writer.set('git', 'TOKEN', 'välue 2')
  t.same(reader.of('git', ['TOKEN']).values, { TOKEN: 'välue 2' })
  await writer.set('constructor', 'toString', 'x')
  t.same(reader.list(), [{ skill: 'git', name: 'TOKEN' }, { skill: 'constructor', name: 'toString' }])
  t.equal(await writer.remove('git', 'TOKEN'), true)
  t.equal(await writer.remove('git', 'TOKEN'), false)
  t.same(reader.of('git', ['TOKEN', 'toString']).missing, ['TOKEN', 'toString'])
  t.same([await mode(reader.path), await mode(directory)], [0o600, 0o700])
  t.same(await readdir(directory), ['secrets.json'], 'nothing else is left')
})

t.test('the environment fills in, but for what is the server\'s own', async t => {
  const file = new SecretFile(await place(t), { TOKEN: 'from-env', EMPTY: '', SERVICE_API_KEY: 'key' })
  t.same(file.of('git', ['TOKEN', 'EMPTY', 'SERVICE_API_KEY']), {
    values: { TOKEN: 'from-env' },
    missing: ['EMPTY', 'SERVICE_API_KEY']
  })
  await file.set('git', 'TOKEN', 'from-file')
  t.equal(file.of('git', ['TOKEN']).values['TOKEN'], 'from-file')
})

t.test('writers wait for each other, and for nobody who died', async t => {
  const directory = await place(t)
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'secrets.json.lock'), JSON.stringify({ pid: 2_000_000_000, started: 'long ago' }))
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => new SecretFile(directory, {}).set('git', `NAME_${i}`, `value-${i}`))
  )
  t.equal(new SecretFile(directory, {}).list().length, 20, 'no write was lost')
  t.same(await readdir(directory), ['secrets.json'])
})

t.test('a file that others can read, or that is damaged, is refused with what to do and without its contents', async t => {
  const file = new SecretFile(await place(t), {})
  await file.set('git', 'TOKEN', 'canary-value')
  for (const open of [0o640, 0o604, 0o620]) {
    await chmod(file.path, open)
    t.throws(
      () => file.of('git', ['TOKEN']),
      { message: `${file.path} can be read by other users; run: chmod 600 ${file.path}` },
      open.toString(8)
    )
    await t.rejects(file.set('git', 'TOKEN', 'x'), /chmod 600/)
  }
  await chmod(file.path, 0o600)
  t.equal(file.of('git', ['TOKEN']).values['TOKEN'], 'canary-value', 'and is read again when that was done')
  for (const text of [
    '{"git": {"TOKEN": canary-value', '["canary-value"]', '{"git": "canary-value"}',
    '{"git": {"TOKEN": ["canary-value"]}}'
  ]) {
    await writeFile(file.path, text)
    t.throws(() => file.list(), { message: /is damaged: it must hold/ }, text)
    try { file.list() } catch (error) { t.notMatch(String(error), 'canary') }
  }
  await rm(file.path)
  await chmod(join(file.path, '..'), 0o777)
  await t.rejects(file.set('git', 'TOKEN', 'x'), /other users can write to .*chmod go-w/)
})

t.test('names and values that can not be are refused, and never quoted', async t => {
  const file = new SecretFile(await place(t), {})
  const cases: [string, string, string, RegExp][] = [
    ['Git', 'TOKEN', 'canary', /skill's name/], ['__proto__', 'TOKEN', 'canary', /skill's name/],
    ['git', 'TOKEN=canary', 'canary', /secret's name/], ['git', '__proto__', 'canary', /secret's name/],
    ['git', '', 'canary', /secret's name/],
    ['git', 'TOKEN', '', /empty/], ['git', 'TOKEN', 'canary\0', /NUL/], ['git', 'TOKEN', 'canary\uFFFD', /UTF-8/],
    ['git', 'TOKEN', 'x'.repeat(secretBytesMax + 1), /longer than/]
  ]
  for (const [skill, name, value, message] of cases) {
    await t.rejects(file.set(skill, name, value), { code: 'INVALID_PARAMETERS', message })
    await file.set(skill, name, value).catch((error: unknown) => { t.notMatch(String(error), 'canary') })
  }
  await file.set('git', 'TOKEN', 'x'.repeat(secretBytesMax))
  t.match(JSON.parse(await readFile(file.path, 'utf8')), { git: { TOKEN: String } })
})
