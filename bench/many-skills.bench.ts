// How long do 1,000 skills with 10,000 tools take: to load for the first time and again, to be listed, and to follow a
// change? Every tenth is a script. Loading is beside an empty Node process, in interleaved rounds.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import plugin from '../plugins/skills-directory/index.ts'
import { openPlugin } from '../plugins/testing/open-plugin.ts'
import { makeHome, request, skillet, startServer, type Home } from '../test/support/program.ts'
import { benchmark, type Row } from './lib/benchmark.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const skills = 1000
const toolsEach = 10

export default benchmark({
  question: 'How long do 1,000 skills with 10,000 tools take to load, to be listed, and to follow a change?',
  limit_s: 300,
  async run ({ quick }) {
    process.env['XDG_CONFIG_HOME'] = '/nonexistent'
    const home = await makeHome()
    const kept = await mkdtemp(join(tmpdir(), 'skillet-many-'))
    try {
      for (let i = 0; i < skills; i++) {
        const folder = join(home.skills, `skill-${i}`)
        await mkdir(folder, { recursive: true })
        await writeFile(join(folder, i % 10 === 0 ? 'skill.js' : 'skill.toml'), i % 10 === 0 ? script(i) : native(i))
      }
      await load(home, kept)
      const args = ['list', '--no-bundled-skills', '--json']
      await skillet(home, args)
      const samples = await interleaved({
        empty: () => timed(() => promisify(execFile)(process.execPath, ['-e', '0'])),
        first: () => loadFresh(home),
        again: () => timed(() => load(home, kept)),
        list: () => timed(() => skillet(home, args))
      }, quick ? 1 : 5)
      const row = (what: string, times: number[]): Row => ({
        what,
        against: 'an empty Node process',
        unit: '×',
        values: ratios(times, samples.empty),
        details: { ms: median(times), peer_ms: median(samples.empty) }
      })
      return {
        rows: [
          {
            what: 'load 1,000 skills, nothing known of them', unit: 'ms', values: samples.first, goal: { at_most: 3000 }
          },
          row('load them, nothing known', samples.first), row('load them again', samples.again),
          row('skillet list --json, whole process', samples.list),
          ...await served(home, quick ? 2 : 10)
        ]
      }
    } finally {
      await rm(kept, { recursive: true })
      await home.remove()
    }
  }
})

/** What a server does with them. */
async function served (home: Home, tries: number): Promise<Row[]> {
  const server = await startServer(home, ['--no-bundled-skills'])
  try {
    const lists: number[] = []
    for (let i = 0; i < 5 * tries; i++) {
      lists.push(await timed(() => fetch(`${server.url}/api/skills`).then(reply => reply.arrayBuffer())))
    }
    const changes: number[] = []
    for (let i = 0; i < tries; i++) {
      const text = native(1, `change ${i}`).replace('Skill 1:', `Change ${i}:`)
      changes.push(await timed(async () => {
        await writeFile(join(home.skills, 'skill-1', 'skill.toml'), text)
        while (!String((await request(server.url, '/api/skills/skill-1')).body['description'])
          .startsWith(`Change ${i}:`)) {
          await new Promise(resolve => setTimeout(resolve, 5))
        }
      }))
    }
    return [
      { what: 'GET /api/skills, all 10,000 tools', unit: 'ms', values: lists },
      { what: 'a change of one skill, until it serves', unit: 'ms', values: changes }
    ]
  } finally {
    await server.stop()
  }
}

async function loadFresh (home: Home): Promise<number> {
  const fresh = await mkdtemp(join(tmpdir(), 'skillet-many-'))
  try {
    return await timed(() => load(home, fresh))
  } finally {
    await rm(fresh, { recursive: true })
  }
}

async function load (home: Home, data_dir: string): Promise<void> {
  const opened =
    await openPlugin(plugin, {
      data_dir, config: { isolation: { mode: 'off' }, skills: { bundled: false, directories: [home.skills] } }
    })
  const loaded = await opened.service.load(new AbortController().signal)
  await opened.close()
  if (loaded.skills.length !== skills) {
    throw new Error(`${loaded.skills.length} skills: ${JSON.stringify(loaded.quarantined[0])}`)
  }
}

async function timed (work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

const verbs = [
  'list', 'read', 'write', 'copy', 'move', 'delete', 'find', 'convert', 'merge', 'split', 'encode', 'sign', 'verify',
  'parse', 'render', 'count', 'sort', 'filter', 'plan', 'send'
]
const things = [
  'files', 'pages', 'orders', 'tables', 'images', 'letters', 'tickets', 'branches', 'invoices', 'sounds', 'routes',
  'keys', 'colours'
]
const about = (skill: number, tool: number): string =>
  `${verbs[(skill + tool) % verbs.length]} ${things[(skill * 7 + tool) % things.length]} of kind ${skill % 97}`

function native (skill: number, says = `${skill}`): string {
  const tools = Array.from({ length: toolsEach }, (_, tool) => `
[[tools]]
name = "tool-${tool}"
description = "Tool to ${about(skill, tool)}"
command = ["echo", "${says}", "{{text}}", "-n", "{{count}}"]
[[tools.parameters]]
name = "text"
type = "string"
description = "What to ${verbs[tool]}"
required = true
[[tools.parameters]]
name = "count"
type = "integer"
description = "How many ${things[tool]}"
default = ${tool}
minimum = 0
`)
  return `description = "Skill ${skill}: ${about(skill, 0)}"\n${tools.join('')}`
}

function script (skill: number): string {
  const tools = Array.from({ length: toolsEach }, (_, tool) => `'tool-${tool}': {
    description: 'Tool to ${about(skill, tool)}',
    parameters: {
      text: { type: 'string', description: 'What to ${verbs[tool]}', required: true },
      count: { type: 'integer', description: 'How many', default: ${tool}, minimum: 0 }
    },
    run: ({ text, count }) => basename(text).repeat(count)
  }`)
  return `import { basename } from 'node:path'\nexport default { description: 'Skill ${skill}: ${about(skill, 0)}', tools: { ${tools.join(', ')} } }\n`
}
