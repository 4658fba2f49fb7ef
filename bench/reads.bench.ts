// How near do the cheapest reads come to a server that answers with the same bytes and does nothing else?
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Home } from '../test/support/program.ts'
import { benchmark, roundsOf, type Row } from './lib/benchmark.ts'
import { load, requestOf, type Load } from './lib/load.ts'
import { withServers } from './lib/servers.ts'
import { interleaved, median, ratios } from './lib/statistics.ts'

const skills = 200

export default benchmark({
  question: `How near do GET /api/health and GET /api/skills, with ${skills} skills, come to a raw server that sends the same bytes?`,
  limit_s: 180,
  run: options => withServers(async servers => {
    const { rounds, seconds } = roundsOf(options)
    const skillet = await servers.skillet(['--no-bundled-skills'], { prepare: writeSkills })
    const page = await bytesOf(`${skillet.url}/api/skills`)
    const found = (JSON.parse(page.toString()) as { skills: unknown[] }).skills.length
    if (found !== skills) throw new Error(`there are ${found} skills`)
    const raw = async (name: string, bytes: Buffer): Promise<number> => {
      const file = join(skillet.home.folder, name)
      await writeFile(file, bytes)
      return (await servers.raw(file)).port
    }
    const rawHealth = await raw('health.json', await bytesOf(`${skillet.url}/api/health`))
    const rawSkills = await raw('skills.json', page)
    const get = (port: number, path: string) => () => load(port, requestOf('GET', path), 64, seconds)
    const samples = await interleaved({
      rawHealth: get(rawHealth, '/api/health'), health: get(skillet.port, '/api/health'),
      rawSkills: get(rawSkills, '/api/skills'), skills: get(skillet.port, '/api/skills')
    }, rounds)
    return { rows: [
      row('GET /api/health', samples.health, samples.rawHealth),
      row(`GET /api/skills, ${skills} skills`, samples.skills, samples.rawSkills, page.length)
    ] }
  })
})

function row (what: string, own: Load[], raw: Load[], bytes?: number): Row {
  const [mine, theirs] = [own.map(one => one.requests_per_second), raw.map(one => one.requests_per_second)]
  return {
    what, against: 'raw uWebSockets.js with the same bytes', unit: '×', values: ratios(mine, theirs),
    goal: { at_least: 0.85 },
    details: {
      requests_per_second: median(mine),
      peer_requests_per_second: median(theirs),
      ...(bytes !== undefined && { reply_bytes: bytes })
    }
  }
}

async function bytesOf (url: string): Promise<Buffer> {
  return Buffer.from(await (await fetch(url)).arrayBuffer())
}

/** With `trivial` and `command`, which every benchmark has, there are so many. */
async function writeSkills (home: Home): Promise<void> {
  for (let i = 0; i < skills - 2; i++) {
    const folder = join(home.skills, `skill-${i}`)
    await mkdir(folder, { recursive: true })
    const tools = ['list', 'show', 'count'].map(name => `[[tools]]
name = "${name}"
description = "A tool of the skill ${i}, for the list"
command = ["echo", "{{text}}"]
[[tools.parameters]]
name = "text"
type = "string"
description = "What is said"
required = true
`)
    await writeFile(join(folder, 'skill.toml'), `description = "Skill ${i} of many"\n${tools.join('')}`)
  }
}
