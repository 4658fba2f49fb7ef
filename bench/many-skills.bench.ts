// How long do 1,000 skills with 10,000 tools take: to load for the first time and again, to be listed, and to follow a change?
// Every tenth is a script.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import plugin from '../plugins/skills-directory/index.ts'
import { openPlugin } from '../test/support/open-plugin.ts'
import { makeHome, request, skillet, startServer, type Home } from '../test/support/program.ts'
import { benchmark, type Row } from './lib/benchmark.ts'
import { interleaved, ratios } from './lib/statistics.ts'

const skills = 1000
const toolsEach = 10

const verbs = ['list', 'read', 'write', 'copy', 'move', 'delete', 'find', 'convert', 'merge', 'split', 'encode', 'sign', 'verify', 'parse', 'render', 'count', 'sort', 'filter', 'plan', 'send']
const things = ['files', 'pages', 'orders', 'tables', 'images', 'letters', 'tickets', 'branches', 'invoices', 'sounds', 'routes', 'keys', 'colours']
const about = (skill: number, tool: number): string => `${verbs[(skill + tool) % verbs.length]} ${things[(skill * 7 + tool) % things.length]} of kind ${skill % 97}`

function native (skill: number): string {
  const tools = Array.from({ length: toolsEach }, (_, tool) => `
[[tools]]
name = "tool-${tool}"
description = "Tool to ${about(skill, tool)}"
command = ["echo", "{{text}}", "-n", "{{count}}"]
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
    parameters: { text: { type: 'string', description: 'What to ${verbs[tool]}', required: true }, count: { type: 'integer', description: 'How many', default: ${tool}, minimum: 0 } },
    run: ({ text, count }) => basename(text).repeat(count)
  }`)
  return `import { basename } from 'node:path'\nexport default { description: 'Skill ${skill}: ${about(skill, 0)}', tools: { ${tools.join(', ')} } }\n`
}

export default benchmark({
  question: 'How long do 1,000 skills with 10,000 tools take to load, to be listed, and to follow a change?',
  limit_s: 420,
  async run ({ quick }) {
    const home = await makeHome()
    try {
      for (let i = 0; i < skills; i++) {
        const folder = join(home.skills, `skill-${i}`)
        await mkdir(folder, { recursive: true })
        await writeFile(join(folder, i % 10 === 0 ? 'skill.js' : 'skill.toml'), i % 10 === 0 ? script(i) : native(i))
      }
      const rounds = quick ? 1 : 5
      const samples = await interleaved({
        empty: () => timed(() => skillet(home, ['--version'])),
        first: () => loadFirst(home),
        again: () => timed(() => load(home, home.data_dir)),
        list: () => timed(() => skillet(home, ['list', '--no-bundled-skills', '--json']))
      }, rounds)
      const { lists, changes } = await served(home, quick ? 3 : 20)
      const row = (what: string, values: number[], goal?: Row['goal']): Row => ({ what, unit: 'ms', values, ...(goal !== undefined && { goal }) })
      return {
        rows: [
          row('load 1,000 skills, nothing known of them', samples.first, { at_most: 3000 }),
          row('load 1,000 skills again', samples.again, { at_most: 3000 }),
          { what: 'skillet list --json of them', against: 'skillet --version', unit: '×', values: ratios(samples.list, samples.empty) },
          row('GET /api/skills, all of them', lists),
          row('a change of one of them, from the write to the first answer with it', changes)
        ]
      }
    } finally {
      await home.remove()
    }
  }
})

async function timed (work: () => Promise<unknown>): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

async function load (home: Home, data_dir: string): Promise<void> {
  const opened = await openPlugin(plugin, { data_dir, config: { skills: { bundled: false, directories: [home.skills] } } })
  const loaded = await opened.service.load(new AbortController().signal)
  await opened.close()
  if (loaded.skills.length !== skills) throw new Error(`${loaded.skills.length} skills: ${JSON.stringify(loaded.quarantined[0])}`)
}

async function loadFirst (home: Home): Promise<number> {
  const data_dir = await mkdtemp(join(home.folder, 'data-'))
  const took_ms = await timed(() => load(home, data_dir))
  await rm(data_dir, { recursive: true })
  return took_ms
}

/** What a server takes for a list, and for a change. */
async function served (home: Home, tries: number): Promise<{ lists: number[], changes: number[] }> {
  const server = await startServer(home, ['--no-bundled-skills', '--log-level', 'error'])
  try {
    const lists: number[] = []
    const changes: number[] = []
    for (let i = 0; i < tries; i++) {
      lists.push(await timed(() => fetch(`${server.url}/api/skills`).then(reply => reply.arrayBuffer())))
      const says = `Change ${i}:`
      changes.push(await timed(async () => {
        await writeFile(join(home.skills, 'skill-1', 'skill.toml'), native(1).replace('Skill 1:', says))
        while (!String((await request(server.url, '/api/skills/skill-1')).body['description']).startsWith(says)) await new Promise(resolve => { setTimeout(resolve, 5) })
      }))
    }
    return { lists, changes }
  } finally {
    await server.stop()
  }
}
