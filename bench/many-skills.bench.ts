// How long do 1,000 skills with 10,000 tools take: to load for the first time and again, to be listed, and to follow a change?
// Every tenth is a script. Loading is beside an empty Node process, in interleaved rounds.
// Usage: node dist/bench/many-skills.bench.js [--json FILE]
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { execFile } from 'node:child_process'
import { promisify, parseArgs } from 'node:util'
import plugin from '../plugins/skills-directory/index.ts'
import { openPlugin } from '../test/support/open-plugin.ts'
import { makeHome, request, skillet, startServer } from '../test/support/program.ts'
import { median, rounded, save } from './lib/report.ts'

const skills = 1000
const toolsEach = 10
const rounds = 5
const { values } = parseArgs({ options: { json: { type: 'string' } } })
const home = await makeHome()
process.env['XDG_CONFIG_HOME'] = '/nonexistent'

const verbs = ['list', 'read', 'write', 'copy', 'move', 'delete', 'find', 'convert', 'merge', 'split', 'encode', 'sign', 'verify', 'parse', 'render', 'count', 'sort', 'filter', 'plan', 'send']
const things = ['files', 'pages', 'orders', 'tables', 'images', 'letters', 'tickets', 'branches', 'invoices', 'sounds', 'routes', 'keys', 'colours']
const about = (skill: number, tool: number): string => `${verbs[(skill + tool) % verbs.length]} ${things[(skill * 7 + tool) % things.length]} of kind ${skill % 97}`

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
    parameters: { text: { type: 'string', description: 'What to ${verbs[tool]}', required: true }, count: { type: 'integer', description: 'How many', default: ${tool}, minimum: 0 } },
    run: ({ text, count }) => basename(text).repeat(count)
  }`)
  return `import { basename } from 'node:path'\nexport default { description: 'Skill ${skill}: ${about(skill, 0)}', tools: { ${tools.join(', ')} } }\n`
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}

async function load (data_dir: string): Promise<void> {
  const opened = await openPlugin(plugin, { data_dir, config: { skills: { bundled: false, directories: [home.skills] } } })
  const loaded = await opened.service.load(new AbortController().signal)
  await opened.close()
  if (loaded.skills.length !== skills) throw new Error(`${loaded.skills.length} skills: ${JSON.stringify(loaded.quarantined[0])}`)
}

try {
  for (let i = 0; i < skills; i++) {
    const folder = join(home.skills, `skill-${i}`)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, i % 10 === 0 ? 'skill.js' : 'skill.toml'), i % 10 === 0 ? script(i) : native(i))
  }
  const kept = await mkdtemp(join(tmpdir(), 'skillet-many-'))
  await load(kept)
  const times = { empty: [] as number[], first: [] as number[], again: [] as number[], list: [] as number[] }
  const args = ['list', '--no-bundled-skills', '--json']
  await skillet(home, args)
  for (let round = 0; round < rounds; round++) {
    times.empty.push(await timed(() => promisify(execFile)(process.execPath, ['-e', '0'])))
    const fresh = await mkdtemp(join(tmpdir(), 'skillet-many-'))
    times.first.push(await timed(() => load(fresh)))
    await rm(fresh, { recursive: true })
    times.again.push(await timed(() => load(kept)))
    times.list.push(await timed(() => skillet(home, args)))
  }
  await rm(kept, { recursive: true })

  const server = await startServer(home, ['--no-bundled-skills'])
  const lists: number[] = []
  for (let i = 0; i < 50; i++) lists.push(await timed(() => fetch(`${server.url}/api/skills`).then(reply => reply.arrayBuffer())))
  const changes: number[] = []
  for (let i = 0; i < rounds * 2; i++) {
    const text = native(1, `change ${i}`).replace('Skill 1:', `Change ${i}:`)
    changes.push(await timed(async () => {
      await writeFile(join(home.skills, 'skill-1', 'skill.toml'), text)
      while (!String((await request(server.url, '/api/skills/skill-1')).body['description']).startsWith(`Change ${i}:`)) await new Promise(resolve => setTimeout(resolve, 5))
    }))
  }
  await server.stop()

  const empty_ms = median(times.empty)
  const row = (ms: number): object => ({ ms: rounded(ms), 'times an empty process': rounded(ms / empty_ms, 1) })
  const found = {
    'an empty Node process': row(empty_ms),
    'load, nothing known': row(median(times.first)),
    'load, again': row(median(times.again)),
    'skillet list --json, whole process': row(median(times.list)),
    'GET /api/skills, all 10,000 tools': row(median(lists)),
    'a change, until it serves': row(median(changes))
  }
  console.table(found)
  await save(values.json, 'How long do 1,000 skills with 10,000 tools take?', { skills, tools: skills * toolsEach, rounds, found })
} finally {
  await home.remove()
}
