import t from 'tap'
import { executionWords, hasAll, soughtIn } from '../../../kernel/index.ts'
import { executionWordLimits } from '../../../kernel/executions/execution-words.ts'
import { soughtWords, wordCharactersMax, wordsOf } from '../../../kernel/lib/words.ts'
import { makeExecution } from '../../../plugins/testing/executions.ts'

const finds = (text: string, query: string): boolean => hasAll(new Set(wordsOf(text)), soughtWords(query))

t.test('a text is found by its words, whatever their case, accents and signs', async t => {
  for (const [text, query] of [
    ['ECONNREFUSED 127.0.0.1:5432', 'econnrefused "127.0.0.1"'], ['/srv/backup_2026.tar.gz', 'backup TAR'],
    ['Crème Brûlée', 'creme brulee'], ['creme', 'Crème'], ['İstanbul', 'istanbul'], ['ﬁle ①', 'file 1'],
    ['Привет, мир', 'МИР'], ['Ελλάδα', 'ελλαδα'], ['한국어 텍스트', '한국어'], ['हिन्दी', 'हिन्दी'],
    ['日本語の文章', '日本語'], ['日本語の文章', '文章'], ['日本語', '語'], ['日本語', '本'], ['Tokyo東京2020', '東京'],
    ['Tokyo東京2020', 'tokyo'], ['ภาษาไทย', 'ไทย'], ['timeouts', 'time*'], ['東京', '東*'], ['𠮷野家', '𠮷野'],
    [`x${'a'.repeat(500)}`, `x${'a'.repeat(499)}`], ['__proto__ constructor', 'constructor proto'],
    ['emoji 🦊 fox', '🦊 fox']
  ] as const) {
    t.ok(finds(text, query), `${query} finds ${text}`)
  }
  for (const [text, query] of [
    ['timeouts', 'timeout'], ['日本語', '日語'], ['timeout', 'out*'], ['one two', 'one three'], ['東京', '京都']
  ] as const) {
    t.notOk(finds(text, query), `${query} does not find ${text}`)
  }
})

t.test('a word is never longer than the limit, and never half a character', async t => {
  const halved = `${'a'.repeat(wordCharactersMax - 1)}\u{10400}\u{10400}`
  for (const text of ['a'.repeat(10_000), halved, '\ud800\udc00'.repeat(100), '\ud800']) {
    for (const word of wordsOf(text)) t.ok(word.length <= wordCharactersMax && word.isWellFormed())
  }
})

t.test('the words of an execution are those of its names, error, parameters and output', async t => {
  const words = executionWords(makeExecution({
    skill_name: 'git', tool_name: 'log', parameters: { path: { deep: ['Inner/file.txt', 42, true, null] } },
    output: JSON.stringify({ note: 'first\nsecond' }),
    error: { code: 'TIMEOUT', message: 'too late', details: { host: 'example' } }
  }))
  for (const word of ['git', 'log', 'deep', 'inner', '42', 'second', 'timeout', 'late', 'example']) {
    t.ok(words.has(word), word)
  }
  t.notOk(words.has('nsecond'), 'an escape in JSON is no letter')
  t.notOk(words.has('message'), 'the names of an error\'s own fields are not')
})

t.test('what is too large or too deep is cut, and has no effect on the rest', async t => {
  const many = Array.from({ length: 5_000 }, (_, i) => `w${i}`).join(' ')
  t.equal(executionWords(makeExecution({ output: many })).size, executionWordLimits.words)
  const long = makeExecution({ output: `begin ${'- '.repeat(executionWordLimits.characters)} end` })
  t.ok(executionWords(long).has('begin'))
  t.notOk(executionWords(long).has('end'))
  t.ok(executionWords(makeExecution({ output: '['.repeat(100_000) + ']'.repeat(100_000) })).has('upper'))
})

t.test('a query without words, with too many or with too short a beginning says what to do', async t => {
  t.throws(() => soughtIn('"*" -- !?'), { code: 'INVALID_PARAMETERS', message: /letter or a digit/ })
  t.throws(() => soughtIn(Array.from({ length: 33 }, (_, i) => `w${i}`).join(' ')), {
    code: 'INVALID_PARAMETERS', message: /33 different words; give 32/
  })
  t.throws(() => soughtIn('a b* c'), { code: 'INVALID_PARAMETERS', message: /"b\*"/ })
  t.same(soughtIn('a OR a AND "a"').map(({ word }) => word), ['a', 'or', 'and'])
})
