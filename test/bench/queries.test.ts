import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadSkills } from '../support/load-skills.ts'

const { skills } = await loadSkills([], true)
const tools = new Set(skills.flatMap(skill => skill.tools.map(tool => `${skill.name}:${tool.name}`)))

t.test('each question about the bundled skills names tools that exist, and is asked once', async t => {
  const questions =
    ['seen', 'unseen'].flatMap(set => readFileSync(`bench/queries/${set}.jsonl`, 'utf8').trim().split('\n'))
      .map(line => JSON.parse(line) as { query: string, relevant: string[], kind: string })
  t.equal(new Set(questions.map(({ query }) => query)).size, questions.length)
  const wrong = questions.filter(({ relevant }) => relevant.length === 0 || relevant.some(name => !tools.has(name)))
  t.same(wrong, [])
  for (const kind of ['plain', 'typo', 'de', 'fr', 'es', 'zh', 'ru']) {
    t.ok(questions.some(question => question.kind === kind), kind)
  }
})
