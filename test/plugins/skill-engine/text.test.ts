import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { toolsOfCode, toolsMax } from '../../../plugins/skill-engine/text/code-tools.ts'
import { skillNameOf } from '../../../plugins/skill-engine/text/names.ts'
import { schemaOf, type EngineTool } from '../../../plugins/skill-engine/text/parameters.ts'
import { parseSkillMd } from '../../../plugins/skill-engine/text/skill-md.ts'

const samples = fileURLToPath(new URL('../../../../test/fixtures/skill-engine/', import.meta.url))
const sample = (file: string): string => readFileSync(`${samples}${file}`, 'utf8')

interface Expected { skills: { name: string, tools: unknown[], tools_of_the_text?: unknown[], notes: string[] }[] }
const expected = (folder: string): Expected['skills'] =>
  (JSON.parse(sample(`${folder}/expected.json`)) as Expected).skills
const shown = (tools: readonly EngineTool[]): unknown[] =>
  tools.map(({ name, description, parameters }) => ({ name, description, parameters: schemaOf(parameters) }))

t.test('the tools in the text of each sample are as expected, in all three layouts', async t => {
  const texts = [
    ['git-reader', 'SKILL.md'], ['repo-commands', 'SKILL.md'], ['postcard', 'SKILL.md'], ['legacy-folder', 'skill.md']
  ] as const
  for (const [folder, file] of texts) {
    const [skill] = expected(folder)
    const text = parseSkillMd(sample(`${folder}/${file}`))
    t.same(shown(text.tools), skill?.tools_of_the_text ?? skill?.tools, folder)
  }
  const snake = expected('workspace').find(({ name }) => name === 'snake')
  t.same(shown(parseSkillMd(sample('workspace/snake/SKILL.md')).tools), snake?.tools, 'tools that inherit')
  t.same(parseSkillMd(sample('git-reader/SKILL.md')).notes, expected('git-reader')[0]?.notes)
})

t.test('frontmatter is read, or may be missing, and says why it can\'t be read', async t => {
  const { name, version, allowedTools } = parseSkillMd(sample('git-reader/SKILL.md'))
  t.same({ name, version, allowedTools }, { name: 'git-reader', version: '0.3.0', allowedTools: ['git', 'Read'] })
  t.same(parseSkillMd(sample('postcard/SKILL.md')).allowedTools, ['write', 'sender'], 'as a list')
  const { firstParagraph } = parseSkillMd(sample('workspace/plain-git/SKILL.md'))
  t.equal(firstParagraph, 'Nothing but a description of subcommands.')
  t.throws(() => parseSkillMd(sample('broken/open-frontmatter/SKILL.md')), /---/)
  t.throws(() => parseSkillMd(sample('broken/half-good/SKILL.md')), /YAML/)
  const bomb = Array.from({ length: 12 }, (_, i) =>
    `a${i + 1}: &a${i + 1} [${Array(9).fill(i === 0 ? 'x' : `*a${i}`).join(', ')}]`)
  t.throws(() => parseSkillMd(`---\na0: 1\n${bomb.join('\n')}\n---\n`), /can't be read/, 'aliases that multiply')
  t.throws(() => parseSkillMd(`---\nname: ${'x'.repeat(70_000)}\n---\n`), /characters/)
})

t.test('a parameter can\'t change what all objects have', async t => {
  const rows = '| Parameter | Required |\n|--|--|\n| __proto__ | Yes |\n'
  const { tools } = parseSkillMd(`## Tools\n### a\n${rows}\n**Parameters**:\n- \`__proto__\` (required): P\n`)
  t.same(tools.map(({ parameters }) => parameters), [[]])
})

t.test('a circle of tools that inherit ends, and many that inherit twice take no time', async t => {
  const circle = parseSkillMd('## Tools\n### a\n**Parameters**:\n- `x`: X\n- All parameters from `b`\n### b\n**Parameters**: Same as `a`\n')
  t.same(circle.tools.map(({ parameters }) => parameters.map(({ name }) => name)), [['x'], []])
  const chain = Array.from({ length: 60 }, (_, i) =>
    `### t${i}\n**Parameters**:\n- \`p${i}\`: P\n- All parameters from \`t${i + 1}\`\n- All parameters from \`t${i + 1}\`\n`)
  t.equal(parseSkillMd(`## Tools\n${chain.join('')}`).tools[0]?.parameters.length, 60)
})

t.test('a huge text is read in linear time: ten times the text does not take a hundred times as long', async t => {
  const piece = [
    '### a', '<!-- x', '**Parameters**:', '- `a` ((((((( (default: (((', '| Parameter | Required |', '|--|',
    '**a **b ``` --> ', ''
  ].join('\n')
  const cpu_ms = (times: number): number => {
    const before = process.cpuUsage()
    parseSkillMd(`## Tools\n${piece.repeat(times)}`)
    return process.cpuUsage(before).user / 1_000
  }
  cpu_ms(500)
  // Of several, since other work of the process, such as collecting garbage, counts too.
  const least = (times: number): number => Math.min(...[1, 2, 3, 4, 5].map(() => cpu_ms(times)))
  t.ok(least(8_000) < 50 * Math.max(least(800), 1))
})

t.test('tools of code: what can\'t be offered is left out with a note, and a wrong list is refused', async t => {
  const { tools, notes } = toolsOfCode([
    { name: 'a', parameters: [{ name: 'n', paramType: 'integer', defaultValue: '1.5' }, { name: '' }, 'x'] }, 7,
    { name: '__proto__' }, { name: 'constructor' },
    { name: 'p', parameters: [{ name: 's', validation: { pattern: '(?=x)', maxLength: -1, minLength: 2 } }] }
  ], [{ name: 'gone', description: '', parameters: [] }])
  t.same(tools.map(({ name }) => name), ['a', 'p'])
  t.same(schemaOf(tools[1]?.parameters ?? []), {
    type: 'object', properties: { s: { type: 'string', description: '', minLength: 2 } }, required: []
  })
  t.same(notes.sort(), [
    'default-dropped: a.n', 'parameter-name: a.(none)', 'parameter-name: a.(none)', 'tool-name: (none)',
    'tool-name: __proto__', 'tool-name: constructor', 'tool-not-in-code: gone',
    'validation-dropped (maxLength): p.s', 'validation-dropped (pattern): p.s'
  ])
  t.throws(() => toolsOfCode('prose', []), /list/)
  const many = Array.from({ length: 10_000 }, (_, i) => ({ name: `t${i}` }))
  t.throws(() => toolsOfCode(many, []), new RegExp(String(toolsMax)))
})

t.test('names', async t => {
  t.same(
    ['Unit Converter', '@samples/units', '--A__B--', `${'a'.repeat(63)}-b`, '日本'].map(skillNameOf),
    ['unit-converter', 'samples-units', 'a-b', 'a'.repeat(63), '']
  )
})
