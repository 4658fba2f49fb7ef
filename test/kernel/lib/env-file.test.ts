import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { explainConfig, loadConfig } from '../../../kernel/boot/config-load.ts'
import { readEnvFile } from '../../../kernel/lib/env-file.ts'
import { builtinSchema } from '../../support/config.ts'

function folderWith (text: string, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), 'skillet-env-'))
  writeFileSync(join(folder, '.env'), text)
  chmodSync(join(folder, '.env'), mode)
  return folder
}

t.test('what counts in a .env, and what is others\'', async t => {
  const folder = folderWith('\ufeff# a comment\nSKILLET_LOG_LEVEL="debug" # why\nexport SERVICE_API_KEY=\'a b\'\nPATH=/evil\nNODE_OPTIONS=--inspect\nexpress.port = 1\nLONG="two\nlines = x"\n\n')
  t.same(readEnvFile(folder).values, { SKILLET_LOG_LEVEL: 'debug', SERVICE_API_KEY: 'a b' })
  t.same(readEnvFile('/nonexistent').values, {})
  const odd = mkdtempSync(join(tmpdir(), 'skillet-env-'))
  mkdirSync(join(odd, '.env'))
  t.same(readEnvFile(odd).values, {})
})

t.test('a file that is broken or open to others is refused, naming the line or what to run', async t => {
  t.throws(() => readEnvFile(folderWith('A=1\nSKILLET_SERVER_PORT 1\n')), { message: /\.env:2 is no NAME=value/ })
  t.throws(
    () => readEnvFile(folderWith('A=1\nB="x\n\n')),
    { message: /\.env:2 has a value whose quotation mark is not closed/ }
  )
  t.throws(() => readEnvFile(folderWith(`A=${'x'.repeat(70_000)}`)), { message: /the most is 65536/ })
  t.throws(
    () => readEnvFile(folderWith('SKILLET_SERVER_PORT=1', 0o620)),
    { message: /other users can write to .*; run: chmod go-w / }
  )
  t.throws(
    () => readEnvFile(folderWith('SERVICE_API_KEY=x', 0o644)),
    { message: /other users can read the SERVICE_API_KEY in .*; run: chmod 600 / }
  )
  t.same(readEnvFile(folderWith('SKILLET_SERVER_PORT=1', 0o644)).values, { SKILLET_SERVER_PORT: '1' })
  t.same(readEnvFile(folderWith('OTHER=1', 0o666)).values, {})
})

t.test('each value has its origin; the environment is stronger than .env, and that than the file', async t => {
  const cwd = folderWith('SKILLET_SERVER_PORT=2\nSKILLET_SERVER_HOST=::1\nSKILLET_LOG_LEVEL=debug\nSKILLET_SKILLS_TRUSTED=./mine\n')
  writeFileSync(join(cwd, 'skillet.toml'), '[server]\nport = 1\nbody_bytes_max = 2048\n[skills]\ndirectories = ["a"]\n')
  const sources = {
    cwd,
    env: { XDG_CONFIG_HOME: '/nonexistent', SKILLET_SERVER_HOST: 'localhost', SKILLET_LOG_LEVEL: '' },
    flags: { 'skills.directories': ['b'], 'storage.durability': 'deferred' }
  }
  const { config, file, env_file, settings } = explainConfig(sources, builtinSchema)
  t.same(config, loadConfig(sources, builtinSchema))
  t.same([file, env_file], [join(cwd, 'skillet.toml'), join(cwd, '.env')])
  const told = Object.fromEntries(
    settings.map(({ setting, value, origins }) => [setting.path.join('.'), [value, ...origins]])
  )
  t.same(told['server.port'], [2, '.env'])
  t.same(told['server.host'], ['localhost', 'variable'])
  t.same(told['log_level'], ['info', 'default'], 'an empty variable hides that of .env')
  t.same(told['server.body_bytes_max'], [2048, 'file'])
  t.same(told['storage.durability'], ['deferred', 'flag'])
  t.same(told['skills.directories'], [[join(cwd, 'a'), join(cwd, 'b')], 'flag', 'file'])
  t.same(told['skills.trusted'], [[join(cwd, 'mine')], '.env'])
  t.same(told['execution.drain_ms'], [10_000, 'default'])
  const wrong = folderWith('SKILLET_SERVER_PROT=1')
  writeFileSync(join(wrong, 'skillet.toml'), '')
  t.throws(
    () => loadConfig({ ...sources, cwd: wrong }, builtinSchema),
    { message: /\.env: SKILLET_SERVER_PROT is no setting; did you mean "SKILLET_SERVER_PORT"/ }
  )
})
