import * as fc from 'fast-check'
import t from 'tap'
import { buildWords } from '../../../plugins/skill-engine/run/build-words.ts'
import { programOf, programsOf } from '../../../plugins/skill-engine/run/programs.ts'
import { readResult, readVerdict } from '../../../plugins/skill-engine/run/result.ts'
import { safeCommand } from '../../../plugins/skill-engine/run/safe-command.ts'
import { splitCommand } from '../../../plugins/skill-engine/run/split-command.ts'

t.test('a command is split at spaces, with quotes as skills write them', async t => {
  const cases: [string, string[]][] = [
    ['git commit -m "two words"', ['git', 'commit', '-m', 'two words']],
    ['git log --format="%h %s" -n 1', ['git', 'log', '--format=%h %s', '-n', '1']],
    ["psql -c 'SELECT 1\n WHERE s = 'active' ORDER BY p'", ['psql', '-c', "SELECT 1\n WHERE s = 'active' ORDER BY p"]],
    ['git commit -m "say \\"hi\\"; it\'s"', ['git', 'commit', '-m', 'say "hi"; it\'s']],
    ["a 'it'\\''s'", ['a', "it's"]],
    ['curl a?b=c&d=e\n\nNote: `x` | y "', ['curl', 'a?b=c&d=e']],
    ['a "" b', ['a', '', 'b']],
    ['a C:\\dir \'|\' "$(x)"', ['a', 'C:\\dir', '|', '$(x)']]
  ]
  for (const [text, words] of cases) t.same(splitCommand(text), words, text)
})

t.test('what only a shell could run is refused, and named', async t => {
  for (const [text, named] of [
    ['a | b', /\|/], ['a && b', /&&/], ['a > f', />/], ['a; b', /a;/], ['a $(id)', /\$\(id\)/], ['a `id`', /`id`/],
    ['a "b', /quote/], ['a b"', /b"/], ['a --x=`id`', /`/]
  ] as const) t.throws(() => splitCommand(text), named, text)
})

/** A skill that pastes values into its text, as most do. */
const paste = (template: (p: Record<string, unknown>) => string) => async (parameters: Record<string, unknown>) => ({
  plain: splitCommandOrFail(template(parameters)),
  safe: await safeCommand(template(parameters), parameters, async p => `Command: ${template(p)}`)
    .catch((error: unknown) => String(error))
})
const splitCommandOrFail = (text: string): string[] | undefined => {
  try { return splitCommand(text) } catch { return undefined }
}

t.test('a hostile value adds arguments to the plain text, and stays one word by the second call', async t => {
  const run = paste(({ author }) => `git log --author=${String(author)} -n 1`)
  const { plain, safe } = await run({ author: 'x --output=/tmp/stolen' })
  t.same(plain, ['git', 'log', '--author=x', '--output=/tmp/stolen', '-n', '1'], 'the attack')
  t.same(safe, ['git', 'log', '--author=x --output=/tmp/stolen', '-n', '1'])
  const quoted = paste(({ m }) => `git commit -m "${String(m)}"`)
  await fc.assert(fc.asyncProperty(fc.string({ unit: 'grapheme-ascii' }), async m => {
    if (!/[\s"']/.test(m)) return
    t.same((await quoted({ m })).safe, ['git', 'commit', '-m', m])
  }), { numRuns: 200 })
})

t.test('a value that is a part of a command is split once more; a skill that answers otherwise is split as it is', async t => {
  const any = paste(({ args }) => `git ${String(args)}`)
  t.same((await any({ args: "log --format='%h %an'" })).safe, ['git', 'log', '--format=%h %an'])
  let calls = 0
  const plain = await safeCommand('git show "a b"', { x: 'a b' }, async () => { calls++; return undefined })
  t.same(plain, ['git', 'show', 'a b'])
  t.equal(calls, 1)
  const unasked = async (): Promise<string> => { throw new Error('asked without need') }
  t.same(await safeCommand('git show x', { x: 'x' }, unasked), ['git', 'show', 'x'])
  const taken = async (p: Record<string, unknown>) => `Command: git zq1qz "${String(p['x'])}"`
  t.same(await safeCommand('git zq1qz "a b"', { x: 'a b' }, taken), ['git', 'zq1qz', 'a b'])
})

t.test('results of every shape', async t => {
  const cases: [unknown, object][] = [
    ['words', { output: 'words' }], ['{"a":1}', { output: '{"a":1}' }], ['{"ok":null}', { output: '' }],
    ['{"ok":"x"}', { output: 'x' }], [{ ok: { success: true, output: 'x', errorMessage: 'logged' } }, { output: 'x' }],
    [{ output: { a: 1 } }, { output: '{"a":1}' }], [{ success: false, error: { message: 'm' } }, { failure: 'm' }],
    [{ err: { message: 'm' } }, { failure: 'm' }], [{ error: 'e' }, { failure: 'e' }],
    [{ ok: { success: false, error_message: 's' } }, { failure: 's' }]
  ]
  for (const [value, read] of cases) t.same(readResult(value), read, JSON.stringify(value))
  for (const value of [undefined, null, 7, [], {}, { colour: 1 }, { ok: 7 }]) {
    t.match(readResult(value), { failure: /result/ })
  }
  const verdicts = ['{"ok":null}', { ok: null, error: 'no' }, { err: 'e' }, undefined].map(readVerdict)
  t.same(verdicts, [undefined, 'no', 'e', undefined])
})

t.test('words and programs of a skill without code', async t => {
  const words = buildWords(['arg', 'n', 'all', 'off'], { off: false, all: 'true', n: -3, arg: ['a b', 'c'] })
  t.same(words, ['a b', 'c', '-n', '-3', '--all'])
  t.throws(() => buildWords(['arg'], { arg: '--exec=x' }), { code: 'INVALID_PARAMETERS' })
  t.throws(() => buildWords(['a'], { a: '-x' }), { code: 'INVALID_PARAMETERS' })
  const list = ['git', 'psql', 'kubectl']
  t.equal(programOf('kubernetes', list, ['git'], []), 'kubectl')
  t.equal(programOf('x', list, ['Bash', 'psql'], []), 'psql')
  t.equal(programOf('weather', list, ['git'], ['git']), undefined)
  t.same(programsOf(list, ['Read', 'git', 'rm'], []), ['git'], 'narrowed, never widened')
  t.same(programsOf(list, ['Bash'], []), list)
})
