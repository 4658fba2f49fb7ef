import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../kernel/index.ts'
import { loadBundled } from '../support/load-skills.ts'
import { runScript } from '../support/run-script.ts'

const skill = await loadBundled('text')
const run = (tool: string, parameters: JsonObject): Promise<unknown> => runScript(skill, tool, parameters)

t.test('the skill is loaded from its module and manifest', async t => {
  t.match(
    skill,
    { runtime: 'script', version: '1.0.0', trusted: true, permissions: { network: false, write: [], env: [] } }
  )
  t.same(skill.tools.map(tool => tool.name), ['count', 'change_case', 'replace', 'lines', 'diff', 'slug'])
})

t.test('count', async t => {
  t.same(await run('count', { text: '' }), { characters: 0, code_points: 0, words: 0, lines: 0, bytes: 0 })
  t.same(await run('count', { text: 'one two\nthree\n' }), {
    characters: 14, code_points: 14, words: 3, lines: 2, bytes: 14
  })
  t.match(await run('count', { text: '👨‍👩‍👧 e\u0301' }), {
    characters: 3, code_points: 8, words: 1, lines: 1, bytes: 22
  })
  t.match(await run('count', { text: 'a\r\nb' }), { lines: 2 })
  await t.rejects(run('count', {}), { message: 'parameters must have the field "text"' })
  await t.rejects(run('count', { text: 'x'.repeat(1_000_001) }), {
    message: /parameters\/text must NOT have more than 1000000 characters/
  })
})

t.test('change_case', async t => {
  for (const [wanted, expected] of Object.entries({
    upper: 'PARSE HTTPRESPONSE2, WELL', lower: 'parse httpresponse2, well', title: 'Parse Httpresponse2, Well',
    sentence: 'Parse httpresponse2, well',
    camel: 'parseHttpResponse2Well', pascal: 'ParseHttpResponse2Well', snake: 'parse_http_response_2_well',
    constant: 'PARSE_HTTP_RESPONSE_2_WELL', kebab: 'parse-http-response-2-well'
  })) t.equal(await run('change_case', { text: 'parse HTTPResponse2, well', case: wanted }), expected, wanted)
  t.equal(await run('change_case', { text: 'one two\nÄpfel essen', case: 'snake' }), 'one_two\näpfel_essen')
  t.equal(await run('change_case', { text: 'it\'s a dog\'s life', case: 'title' }), 'It\'s A Dog\'s Life')
  await t.rejects(run('change_case', { text: 'x', case: 'shout' }), {
    message: /parameters\/case must be one of "upper"/
  })
})

t.test('replace', async t => {
  t.equal(await run('replace', { text: 'a.b.c', find: '.', replacement: '$1' }), 'a$1b$1c', 'a text is a text')
  t.equal(await run('replace', { text: 'Aa', find: 'a', replacement: 'x', ignore_case: true }), 'xx')
  t.equal(await run('replace', { text: 'aaa', find: 'a', replacement: 'b', first_only: true }), 'baa')
  t.equal(
    await run('replace', {
      text: 'Ada Lovelace\nAlan Turing', find: '^(\\w+) (?P<last>\\w+)$', replacement: '${last}, $1 $$', pattern: true
    }),
    'Lovelace, Ada $\nTuring, Alan $'
  )
  t.equal(await run('replace', { text: 'abc', find: 'x*', replacement: '-', pattern: true }), '-a-b-c-')
  t.equal(
    await run('replace', { text: 'a'.repeat(50_000) + '!', find: '(a+)+$', replacement: '', pattern: true }),
    'a'.repeat(50_000) + '!',
    'a pattern that would hang a backtracking engine'
  )
  await t.rejects(run('replace', { text: 'x', find: '(?<=a)b', pattern: true }), {
    message: /the pattern can't be used \(RE2/
  })
  await t.rejects(run('replace', { text: 'x', find: 'x', replacement: '$x', pattern: true }), {
    message: /in the replacement/
  })
  await t.rejects(run('replace', { text: 'x', find: 'x', replacement: '$7', pattern: true }), { message: /7/ })
  await t.rejects(run('replace', { text: 'a'.repeat(1000), find: 'a', replacement: 'b'.repeat(100_000) }), {
    message: /the result is longer than/
  })
})

t.test('lines', async t => {
  const lines = (text: string, operation: string, more: JsonObject = {}): Promise<unknown> =>
    run('lines', { text, operation, ...more })
  t.equal(await lines('b\na\nc\n', 'sort'), 'a\nb\nc\n')
  t.equal(await lines('b\na\nc', 'sort', { descending: true }), 'c\nb\na')
  t.equal(await lines('10 x\n9 y\n-\n1e2', 'sort_numeric'), '9 y\n10 x\n1e2\n-')
  t.equal(await lines('a\nA\nb\na\n', 'unique'), 'a\nA\nb\n')
  t.equal(await lines('a\nA\nb', 'unique', { ignore_case: true }), 'a\nb')
  t.equal(await lines('a\nb\n', 'reverse'), 'b\na\n')
  t.equal(await lines('a\nb\nc\n', 'head', { count: 2 }), 'a\nb\n')
  t.equal(await lines('a\nb\nc\n', 'tail', { count: 1 }), 'c\n')
  t.equal(await lines('a\nb\n', 'tail', { count: 0 }), '')
  t.equal(await lines(' a\n\n', 'trim'), 'a\n\n')
  t.equal(await lines(' a\n\n\nb', 'drop_empty'), ' a\nb')
  t.equal(await lines('a\n'.repeat(10), 'number').then(text => String(text).split('\n').at(-2)), '10  a')
  await t.rejects(lines('a', 'shuffle'), { message: /parameters\/operation must be one of/ })
})

t.test('a diff is what patch makes the new text of', async t => {
  t.equal(await run('diff', { before: 'a\nb\n', after: 'a\nb\n' }), '')
  t.equal(
    await run('diff', { before: 'a\nb\nc\n', after: 'a\nx\nc\n', context: 1 }),
    '--- before\n+++ after\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n'
  )
  t.equal(
    await run('diff', { before: '', after: 'a' }),
    '--- before\n+++ after\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n'
  )
  const folder = t.testdir({})
  let state = 12345
  const random = (below: number): number => (state = (state * 1103515245 + 12345) % 2147483648) % below
  for (let i = 0; i < 60; i++) {
    const before = Array.from({ length: random(40) }, () => `line ${random(6)}`)
    const after = before.flatMap(line => random(5) === 0 ? [] : random(5) === 0 ? [line, `new ${random(3)}`] : [line])
    const text = (lines: string[]): string => lines.join('\n') + (lines.length > 0 && random(2) === 0 ? '\n' : '')
    const [from, to] = [text(before), text(after)]
    const diff = String(await run('diff', { before: from, after: to, context: random(4) }))
    writeFileSync(join(folder, 'file'), from)
    writeFileSync(join(folder, 'd.patch'), diff.replace('+++ after', '+++ b/file').replace('--- before', '--- a/file'))
    if (diff !== '') {
      const applied = spawnSync('git', ['apply', '--unidiff-zero', '--whitespace=nowarn', 'd.patch'], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], GIT_CEILING_DIRECTORIES: join(folder, '..') }
      })
      if (applied.status !== 0) t.fail(applied.stderr, { diff, from, to })
    }
    if (execFileSync('cat', [join(folder, 'file')], { encoding: 'utf8' }) !== to) {
      t.fail('another text came out', { diff, from, to })
    }
  }
  const removed = (text: unknown): number => String(text).split('\n').filter(line => line.startsWith('-')).length
  t.equal(
    removed(await run('diff', { before: 'a\nb\nc\na\nb\nb\na\n', after: 'c\nb\na\nb\na\nc\n' })),
    1 + 3,
    'the shortest one'
  )
  const large = (word: string): string => Array.from({ length: 100_000 }, (_, i) => `${word}${i}\n`).join('')
  t.equal(
    removed(await run('diff', { before: large('old'), after: large('new') })),
    1 + 100_000,
    'texts with nothing in common'
  )
  const between = String(await run('diff', {
    before: `a\nb\nc\n${large('old')}y\nz`, after: `a\nb\nc\n${large('new')}y\nz`, context: 2, before_name: 'größe 1',
    after_name: 'b'
  }))
  t.match(between, '--- größe 1\n+++ b\n@@ -2,100004 +2,100004 @@\n b\n c\n-old0\n')
  t.match(between, /\n-old99999\n\+new0\n[^]*\n\+new99999\n y\n z\n\\ No newline at end of file\n$/)
})

t.test('slug', async t => {
  t.equal(await run('slug', { text: '  Crème brûlée: l\'été à Łódź & Straße!  ' }), 'creme-brulee-lete-a-lodz-strasse')
  t.equal(await run('slug', { text: 'one two three', length: 9 }), 'one-two')
  t.equal(await run('slug', { text: 'incomprehensible', length: 5 }), 'incom')
  await t.rejects(run('slug', { text: '!?' }), { message: /no letters or digits/ })
})
