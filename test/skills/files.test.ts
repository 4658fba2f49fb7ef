import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Roots } from '../../skills/shared/roots.ts'
import { startBundled } from '../support/bundled.ts'

const folder = realpathSync(t.testdir({
  inside: {
    'a.txt': 'one\r\ntwo\nthree', 'empty': '', '.hidden': 'secret', 'binary': '\0\u0001ab',
    'wide.txt': `${'é'.repeat(70_000)}\nneedle\n`,
    sub: { 'b.ts': 'const needle = 1\n', deep: { 'c.ts': 'Needle\n' } }, node_modules: { x: { 'd.ts': 'needle\n' } }
  },
  outside: { 'secret.txt': 'needle outside' },
  'inside-too': { 'e.txt': 'needle' }
}))
const inside = join(folder, 'inside')
symlinkSync('../outside', join(inside, 'link'))
symlinkSync('../outside/secret.txt', join(inside, 'link.txt'))
symlinkSync('a.txt', join(inside, 'good.txt'))
symlinkSync('.', join(inside, 'sub', 'circle'))
execFileSync('mkfifo', [join(inside, 'pipe')])

const { call, json, close } = await startBundled({ files: { roots: [inside] } })
t.teardown(close)

t.test('what lies outside of the roots is refused', async t => {
  const refused = { code: 'TOOL_EXECUTION_FAILED', message: /outside the folders that may be looked into/ }
  for (const path of [
    '..', '../outside/secret.txt', '../inside-too/e.txt', 'link', 'link/secret.txt', 'link.txt', '/etc/passwd', '~/x',
    join(folder, 'outside'), 'sub/../../outside', '../nothing-there', `/proc/self/root${folder}/outside/secret.txt`
  ]) {
    await t.rejects(call('files', 'stat', { path }), refused, `stat ${path}`)
    await t.rejects(call('files', 'read', { path }), refused, `read ${path}`)
    await t.rejects(call('files', 'list', { path }), refused, `list ${path}`)
    await t.rejects(call('files', 'search', { path, text: 'needle' }), refused, `search ${path}`)
  }
  t.equal(await call('files', 'read', { path: 'good.txt' }), 'one\ntwo\nthree\n', 'a link within them is fine')
  t.notMatch(await call('files', 'search', { text: 'outside' }), /./, 'links are not followed')
})

t.test('a folder that is replaced by a link between check and use is not read', {
  skip: process.platform !== 'linux'
}, async t => {
  const swap = join(inside, 'swap')
  mkdirSync(swap)
  writeFileSync(join(swap, 'secret.txt'), 'harmless')
  const roots = await Roots.of({ roots: [inside] })
  const checked = await roots.real('swap/secret.txt')
  renameSync(swap, `${swap}-old`)
  symlinkSync('../outside', swap)
  await t.rejects(roots.open(checked), { message: /outside the folders/ })
  await t.rejects(roots.entries(swap), { code: /ELOOP|ENOTDIR/ })
  rmSync(swap)
  rmSync(`${swap}-old`, { recursive: true })
})

t.test('roots', async t => {
  await t.rejects(Roots.of({ roots: 'x' }), { message: /must be a list of folders/ })
  await t.rejects(Roots.of({ roots: [] }), { message: /must be a list of folders/ })
  await t.rejects(Roots.of({ roots: ['/nowhere'] }), { message: /none of the folders/ })
  t.equal(await (await Roots.of({ roots: ['/'] })).real('/etc'), realpathSync('/etc'))
})

t.test('list, stat and tree', async t => {
  const { entries } = await json('files', 'list', {}) as { entries: { name: string, kind: string }[] }
  t.same(entries.map(({ name, kind }) => `${name} ${kind}`), [
    'a.txt file', 'binary file', 'empty file', 'good.txt link', 'link link', 'link.txt link', 'node_modules folder',
    'pipe other', 'sub folder', 'wide.txt file'
  ])
  t.match(
    await json('files', 'list', { hidden: true, limit: 2 }),
    { path: '.', entries: [{ name: '.hidden', size: 6 }, { name: 'a.txt' }], more: 9 }
  )
  t.match(await json('files', 'stat', { path: 'a.txt' }), {
    path: join(inside, 'a.txt'), kind: 'file', size: 14, mode: /^0[0-7]{3}$/
  })
  t.match(await json('files', 'stat', { path: 'pipe' }), { kind: 'other' }, 'without waiting for a writer')
  t.equal(await call('files', 'tree', { path: 'sub' }), 'sub\n  b.ts\n  circle@\n  deep/\n    c.ts\n')
  t.equal(
    await call('files', 'tree', { path: 'sub', depth: 1, limit: 2 }),
    'sub\n  b.ts\n  circle@\n(cut at 2 entries)\n'
  )
  await t.rejects(call('files', 'list', { path: 'a.txt' }), { message: /a\.txt is not a folder/ })
  await t.rejects(call('files', 'stat', { path: 'nothing' }), { message: /nothing does not exist/ })
})

t.test('read', async t => {
  t.equal(
    await call('files', 'read', { path: 'a.txt', from: 2, lines: 1 }),
    'two\n(there is more; go on with from = 3)\n'
  )
  t.equal(await call('files', 'read', { path: 'a.txt', from: 3, numbers: true }), '3\tthree\n')
  t.equal(await call('files', 'read', { path: 'empty' }), '')
  t.equal(
    await call('files', 'read', { path: 'wide.txt' }),
    `${'é'.repeat(2000)}…\nneedle\n`,
    'a long line is cut, characters are whole'
  )
  await t.rejects(call('files', 'read', { path: 'a.txt', from: 9 }), {
    message: /a\.txt has 3 lines; there is no line 9/
  })
  await t.rejects(call('files', 'read', { path: 'binary' }), { message: /binary file/ })
  await t.rejects(call('files', 'read', { path: 'sub' }), { message: /not a regular file/ })
  await t.rejects(call('files', 'read', { path: 'pipe' }), { message: /not a regular file/ })
  t.equal(await call('files', 'read_bytes', { path: 'binary', offset: 1 }), '016162')
  t.equal(await call('files', 'read_bytes', { path: 'binary', offset: 99, encoding: 'base64' }), '')
  writeFileSync(join(inside, 'huge.txt'), 'first\n')
  truncateSync(join(inside, 'huge.txt'), 3 * 1024 ** 3) // sparse
  t.match(await call('files', 'read', { path: 'huge.txt', lines: 1 }).catch(String), /binary file|first/)
  await t.rejects(call('files', 'read', { path: 'a.txt', from: 0 }), { code: 'INVALID_PARAMETERS' })
})

t.test('find and search', async t => {
  t.equal(await call('files', 'find', { glob: '*.ts' }), 'sub/b.ts\nsub/deep/c.ts\n')
  t.equal(await call('files', 'find', { glob: 'sub/*.ts' }), 'sub/b.ts\n')
  t.equal(
    await call('files', 'find', { glob: '*', kind: 'folder', exclude: [] }),
    'node_modules\nnode_modules/x\nsub\nsub/deep\n'
  )
  t.equal(await call('files', 'find', { glob: '**', limit: 1 }), 'a.txt\n(cut at 1 results)\n')
  t.equal(await call('files', 'find', { glob: '[a' }), '')
  t.equal(await call('files', 'search', { text: 'needle' }), 'sub/b.ts:1:const needle = 1\nwide.txt:2:needle\n')
  t.equal(
    await call('files', 'search', { text: '^needle$', pattern: true, ignore_case: true, glob: '*.ts' }),
    'sub/deep/c.ts:1:Needle\n'
  )
  t.equal(
    await call('files', 'search', { text: 'T', path: 'a.txt', ignore_case: true }),
    'a.txt:2:two\na.txt:3:three\n'
  )
  t.match(await call('files', 'search', { text: 'e', limit: 1 }), /cut: there may be more/)
  t.equal(await call('files', 'search', { text: 'secret', hidden: true }), '.hidden:1:secret\n')
  await t.rejects(call('files', 'search', { text: '(?<=a)', pattern: true }), { message: /the pattern can't be used/ })
})
