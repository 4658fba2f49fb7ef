import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseConfigFile } from '../../../plugins/skill-engine/config/config-file.ts'
import { containerRun, readContainer, refusalOf } from '../../../plugins/skill-engine/config/docker.ts'
import { interpolate } from '../../../plugins/skill-engine/config/interpolate.ts'
import { parseManifest, sourceKind } from '../../../plugins/skill-engine/config/manifest.ts'

const samples = fileURLToPath(new URL('../../../../test/fixtures/skill-engine/', import.meta.url))
const sample = (file: string): string => readFileSync(`${samples}${file}`, 'utf8')

t.test('interpolation', async t => {
  const env = { SET: 'v', EMPTY: '', SERVICE_API_KEY: 'of the server' }
  const cases: [string, string][] = [
    ['a${SET}b', 'avb'], ['${EMPTY:-x}', ''], ['${NO:-x}', 'x'], ['<${NO:-${SET}}>', '<${SET}>'],
    ['$SET ~ \\n', '$SET ~ \\n'],
    ['${open', '${open'], ['${NO:-}', ''], ['${SERVICE_API_KEY:-kept}', 'kept']
  ]
  for (const [text, filled] of cases) t.equal(interpolate(text, env), filled, text)
  t.throws(() => interpolate('${NO}', env), /NO is not set/)
  t.throws(() => interpolate('${NO:?say it}', env), /say it/)
  t.throws(() => interpolate('${toString}', env), /not set/, 'no property that all objects have')
})

t.test('a settings file in the simple form, with a secret that is elsewhere', async t => {
  const notes: string[] = []
  const { config, env, secrets } = parseConfigFile(sample('postcard/skill.config.toml'), notes)
  t.same(config, { sender_name: 'Ada', city: 'Turin', stamps: '3' })
  t.same(env, { POSTCARD_STYLE: 'plain' })
  t.same(secrets, ['reply_token'])
  t.same(notes, ['value-cast: config.stamps'])
  t.throws(() => parseConfigFile('[config\n', []), /TOML/)
  t.throws(() => parseConfigFile(`x = ${'['.repeat(5_000)}`, []), /TOML/)
})

t.test('a wrong entry of a manifest is refused alone', async t => {
  const { entries, refused } = parseManifest(sample('broken/wrong-types/.skill-engine.toml'), {})
  t.same(entries.map(({ key }) => key), ['fine'])
  t.same(refused.map(({ key, reason }) => [key, reason]), [
    ['strange', 'runtime-unknown'], ['nowhere', 'source-absent'], ['hollow', 'docker-absent']
  ])
  t.same(parseManifest('skills.a = 7\nskills.b.source = "./b"', {}).refused, [
    { key: 'a', reason: 'entry-invalid', message: 'skills.a must be a table' }
  ])
  t.throws(() => parseManifest(sample('broken/bad-manifest/.skill-engine.toml'), {}), /TOML/)
  t.same(['./a', '/a', 'docker:x', 'github:a/b', 'https://x', 'a/b'].map(sourceKind), [
    'path', 'path', 'image', 'remote', 'remote', 'installed'
  ])
})

t.test('a container: its vector, and what the policy refuses', async t => {
  const read = (more: object) => readContainer({ image: 'i', ...more }, {}, [])
  t.same(containerRun(read({})), { run_options: ['--network', 'none'], words: [], env: {}, passed: [] })
  t.same(containerRun(read({
    entrypoint: 'bc', command: ['-q', 'two words'], environment: ['A=b=c', 'EMPTY=', 'PASSED', '-v=/:/x'],
    read_only: true, volumes: ['/srv:/x'], memory: '64m', user: '1:2'
  })), {
    run_options: ['--network', 'none', '--memory', '64m', '--user', '1:2', '--read-only', '-v', '/srv:/x'],
    program: 'bc', words: ['-q', 'two words'], env: { A: 'b=c', EMPTY: '' }, passed: ['PASSED']
  })
  for (const more of [
    { network: 'host' }, { extra_args: ['--privileged'] }, { extra_args: ['--privileged=true'] },
    { extra_args: ['--network', 'host'] }, { extra_args: ['--pid=host'] }, { extra_args: ['-v', '/root/.ssh:/x'] },
    { extra_args: ['-v=/root:/x'] }, { extra_args: ['--mount', 'type=bind,src=/etc/shadow,dst=/x'] },
    { volumes: ['/srv/../root:/x'] }, { volumes: ['//etc//shadow:/x'] }, { volumes: ['/:/host'] },
    { volumes: ['/run/docker.sock:/s'] }
  ]) t.type(refusalOf(read(more)), 'string', JSON.stringify(more))
  t.equal(refusalOf(read({ volumes: ['/srv/a:/b:ro', 'named:/c'], extra_args: ['--cap-drop', 'ALL'] })), undefined)
  t.throws(() => read({ image: '--privileged' }), /image/)
  t.throws(() => read({ volumes: ['${NO}:/x'] }), /NO/)
})
