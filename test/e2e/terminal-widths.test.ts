import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeHome, skillet, type Home } from '../support/program.ts'
import { hasTerminals, startInTerminal } from '../support/pty.ts'
import { until } from '../../plugins/testing/until.ts'

const widths = [40, 80, 120]
const ofSkill = 'Counts how many visitors came to each page of a site, by the hour, the day or the week, and names those pages that nobody has opened for longer than a month.'
const ofTool = 'Counts the visitors of one page. 日本語の説明文はここで折り返されます。次の行に続きます。 Cafe\u0301s and nai\u0308ve re\u0301sume\u0301s are measured, and 🚀🚀🚀 too.'
const ofParameter = 'The page, as its path from the root of the site; the query after it is left out, and so is an anchor, since both name the same page'
const ofUnit = 'What the visitors are counted by, of which the longest gives the shortest answer and takes the least time'

const skill = `
description = ${JSON.stringify(ofSkill)}
[[tools]]
name = "count-visitors"
description = ${JSON.stringify(ofTool)}
command = ["echo", "{{path_of_the_page}}", "{{unit}}"]
[[tools.parameters]]
name = "path_of_the_page"
type = "string"
description = ${JSON.stringify(ofParameter)}
required = true
[[tools.parameters]]
name = "unit"
type = "string"
enum = ["hour", "day", "week", "month", "quarter", "year"]
default = "hour"
description = ${JSON.stringify(ofUnit)}
`

/** How many columns a terminal takes for a text, counted by what this test's texts are made of. */
function columnsOf (line: string): number {
  return [...line].reduce(
    (sum, character) => sum + (/\p{M}/u.test(character) ? 0 : /[\u3000-\u9fff\u{1f680}]/u.test(character) ? 2 : 1),
    0
  )
}

/** What is left of a line to see, when a spinner has written over itself and erased the line. */
function leftOf (line: string): string {
  return line.split(`${String.fromCharCode(27)}[0K`).at(-1) ?? ''
}

async function visitorsHome (): Promise<Home> {
  const home = await makeHome()
  Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })
  await mkdir(join(home.skills, 'visitors'), { recursive: true })
  await writeFile(join(home.skills, 'visitors', 'skill.toml'), skill)
  return home
}

/** All of a text's words in their order; spaces are left out, for lines may end within Japanese ones. */
function contains (shown: string, text: string): boolean {
  return shown.replaceAll(/\s+/g, '').includes(text.replaceAll(/\s+/g, ''))
}

t.test('a terminal shows all of what a person asks for, in lines that fit', {
  skip: hasTerminals ? false : 'no python3 to make terminals'
}, async t => {
  const home = await visitorsHome()
  t.teardown(home.remove)
  const run = await skillet(home, [
    'run', 'visitors:count-visitors', 'path_of_the_page=/', 'unit=day', '--trust', home.skills
  ])
  t.equal(run.status, 0, run.stderr)
  const { executions: [execution] } = JSON.parse((await skillet(home, ['history', '--json'])).stdout) as {
    executions: { id: string }[]
  }
  const id = execution?.id ?? 'missing'
  const asked: [string[], string[]][] = [
    [['list'], [ofSkill, ofTool, 'visitors:count-visitors', 'path_of_the_page=…']],
    [['info', 'visitors'], [ofSkill]],
    [
      ['info', 'visitors:count-visitors'],
      [ofTool, ofParameter, ofUnit, '"hour" | "day" | "week" | "month" | "quarter" | "year", default "hour"']
    ],
    [['search', 'visitors'], [ofTool, 'visitors:count-visitors']],
    [['history'], [id, 'success', 'visitors:count-visitors']],
    [['show'], [id, 'visitors:count-visitors']]
  ]
  for (const columns of widths) {
    for (const [args, texts] of asked) {
      const terminal = startInTerminal(home, args, { columns })
      t.equal(await terminal.ended, 0)
      const shown = terminal.shown()
      const what = `${args.join(' ')} at ${columns} columns`
      t.same(shown.split('\n').map(leftOf).filter(line => columnsOf(line) > columns), [], `${what}: no line is wider`)
      // Cells may be broken side by side, but for the last of a line.
      for (const text of texts) t.ok(contains(shown, text), `${what}: ${text}\n${shown}`)
      t.match(
        shown,
        args[0] === 'history' || args[0] === 'show' ? new RegExp(`\\b${id}\\b`) : /visitors/,
        `${what}: an id is in one piece`
      )
    }
  }
  const piped = await skillet(home, ['info', 'visitors:count-visitors'])
  t.ok(piped.stdout.split('\n').some(line => line.endsWith(ofParameter)), 'elsewhere a description is one line')
})

t.test('a server logs lines to read in a terminal, and JSON where that is piped', {
  skip: hasTerminals ? false : 'no python3 to make terminals'
}, async t => {
  const home = await visitorsHome()
  t.teardown(home.remove)
  for (const stderr of ['shown', 'piped'] as const) {
    const server = startInTerminal(home, ['serve', '--port', '0'], { columns: 80, stderr })
    t.teardown(() => server.child.kill('SIGKILL'))
    await until(() => / is ready at /.test(server.shown()))
    server.child.kill('SIGTERM')
    t.equal(await server.ended, 0)
    t.notMatch(server.shown(), /^\{/m, 'no JSON in the terminal')
    if (stderr === 'shown') t.match(server.shown(), /^\d\d:\d\d:\d\d info: listening at http/m)
    else {
      const lines = server.piped().trim().split('\n').map(line => JSON.parse(line) as { msg: string })
      t.ok(lines.some(({ msg }) => msg.startsWith('listening at http')))
    }
  }
})
