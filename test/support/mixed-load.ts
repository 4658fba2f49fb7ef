import { once } from 'node:events'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { Execution, Storage } from '../../kernel/index.ts'
import type { Home } from './program.ts'

/** What a call is to do; each tells by a line in a file that it ran. */
export type Temper = 'fast' | 'slow' | 'busy' | 'failing' | 'hanging' | 'crashing' | 'command' | 'broken'

const script = `
import { appendFileSync } from 'node:fs'
const parameters = { call: { type: 'string', description: 'Which call', required: true }, file: { type: 'string', description: 'Where it leaves its mark', required: true } }
const tool = run => ({ description: 'A tool', parameters, run (given) { appendFileSync(given.file, given.call + '\\n'); return run(given.call) } })
export default {
  description: 'Tools of every temper, each of which leaves a mark',
  tools: {
    fast: tool(call => call),
    slow: tool(call => new Promise(resolve => { setTimeout(resolve, 20, call) })),
    busy: tool(call => { for (const end = Date.now() + 10; Date.now() < end;); return call }),
    failing: tool(call => { throw new Error(call) }),
    hanging: tool(() => { for (;;); }),
    crashing: tool(() => process.exit(7))
  }
}`
const parameters = ['call', 'file']
  .map(name => `[[tools.parameters]]\nname = "${name}"\ntype = "string"\ndescription = "${name}"\nrequired = true\n`)
  .join('')
const commands = `description = "Commands that leave a mark"
[[tools]]
name = "command"
description = "A command"
command = ["sh", "-c", "echo \\"$1\\" >> \\"$2\\"; printf %s \\"$1\\"", "sh", "{{call}}", "{{file}}"]
${parameters}
[[tools]]
name = "broken"
description = "A command that is ended by a signal"
command = ["sh", "-c", "echo \\"$1\\" >> \\"$2\\"; kill -KILL $$", "sh", "{{call}}", "{{file}}"]
${parameters}`

/** Of a thousand calls, so many are of this temper; the rest is fast. */
const shares: readonly [Temper, number][] =
  [['failing', 20], ['slow', 20], ['busy', 5], ['command', 10], ['broken', 3], ['hanging', 2], ['crashing', 2]]

/** How a call of each temper is answered: HTTP status, and the status of its execution. */
const expected: Record<Temper, { http: number, status: string }> = {
  fast: { http: 200, status: 'success' }, slow: { http: 200, status: 'success' },
  busy: { http: 200, status: 'success' }, command: { http: 200, status: 'success' },
  failing: { http: 422, status: 'failed' }, crashing: { http: 422, status: 'failed' },
  broken: { http: 422, status: 'failed' }, hanging: { http: 504, status: 'timeout' }
}

interface Reply {
  http: number
  body: {
    execution_id?: string
    output?: string
    status?: string
    error?: { message: string, details: { execution_id?: string } }
  }
}
interface Call { name: string, temper: Temper, id: string | undefined }

/** Drives one server with calls of every temper, and then compares replies, history and marks. */
export class MixedLoad {
  /** What was not as it had to be, at most a hundred. */
  readonly wrong: string[] = []
  readonly #calls: Call[] = []
  readonly #file: string
  readonly #clients: number

  private constructor (file: string, clients: number) {
    this.#file = file
    this.#clients = clients
  }

  /**
   * Writes the skills that it needs into a home.
   * @param clients callers at once, each waiting for its reply before the next
   */
  static async prepare (home: Home, clients: number): Promise<MixedLoad> {
    for (const [name, file, text] of [
      ['mixed', 'skill.mjs', script],
      ['mixed-commands', 'skill.toml', commands]
    ] as const) {
      await mkdir(join(home.skills, name), { recursive: true })
      await writeFile(join(home.skills, name, file), text)
    }
    const file = join(home.folder, 'marks')
    await appendFile(file, '')
    return new MixedLoad(file, clients)
  }

  /** Calls tools so many times, and checks each reply by itself. @returns how many of each temper there were */
  async drive (url: string, executions: number): Promise<Record<Temper, number>> {
    const count = Object.fromEntries(Object.keys(expected).map(temper => [temper, 0])) as Record<Temper, number>
    await this.#each(executions, async (agent, i) => {
      const temper = temperOf(i)
      count[temper]++
      const call: Call = { name: `call-${i}`, temper, id: undefined }
      this.#calls.push(call)
      const skill_name = temper === 'command' || temper === 'broken' ? 'mixed-commands' : 'mixed'
      const reply = await ask(agent, url, '/api/execute', {
        skill_name, tool_name: temper, parameters: { call: call.name, file: this.#file },
        ...(temper === 'hanging' && { timeout_ms: 100 })
      })
      this.#checkReply(call, reply)
    })
    return count
  }

  /**
   * Compares the history with the replies, and the marks with the calls: none lost, none twice, none with another's
   * output.
   */
  async compare (history: Storage): Promise<void> {
    const seen = new Set(this.#calls.map(({ id }) => id))
    if (seen.size !== this.#calls.length) this.#say(`${this.#calls.length} calls have ${seen.size} identifiers`)
    for (const call of this.#calls) {
      if (call.id === undefined) continue
      const stored = await history.get(call.id)
      if (stored === undefined) this.#say(`${call.name} (${call.temper}) is not in the history`)
      else this.#checkRecord(call, stored.execution)
    }
    const { total } = await history.list({ limit: 1, offset: 0 })
    if (total !== this.#calls.length) this.#say(`the history has ${total} executions of ${this.#calls.length} calls`)
    const marks = new Map<string, number>()
    for (const mark of (await readFile(this.#file, 'utf8')).trimEnd().split('\n')) {
      marks.set(mark, (marks.get(mark) ?? 0) + 1)
    }
    for (const { name } of this.#calls) {
      if (marks.get(name) !== 1) this.#say(`${name} ran ${marks.get(name) ?? 0} times`)
    }
    if (marks.size !== this.#calls.length) this.#say(`${marks.size} marks of ${this.#calls.length} calls`)
  }

  #checkReply (call: Call, { http, body }: Reply): void {
    const wanted = expected[call.temper]
    call.id = body.execution_id ?? body.error?.details.execution_id
    if (http !== wanted.http || call.id === undefined) {
      this.#say(`${call.name} (${call.temper}) was answered ${http} ${JSON.stringify(body)}`)
    } else if (wanted.http === 200 && body.output !== call.name) {
      this.#say(`${call.name} has the output of ${body.output}`)
    } else if (call.temper === 'failing' && body.error?.message.includes(`${call.name}`) !== true) {
      this.#say(`${call.name} failed with ${body.error?.message}`)
    }
  }

  #checkRecord ({ name, temper, id }: Call, record: Execution): void {
    const output = expected[temper].http === 200 ? name : ''
    const own = record.id === id && record.tool_name === temper && record.parameters['call'] === name
      && record.status === expected[temper].status && record.output === output
    if (!own || (temper === 'failing' && !record.error?.message.includes(name))) {
      this.#say(`${name} (${temper}) is in the history as ${JSON.stringify(record)}`)
    }
  }

  #say (text: string): void {
    if (this.wrong.length < 100) this.wrong.push(text)
  }

  /** Does something so many times, as many at once as there are clients. */
  async #each (count: number, work: (agent: Agent, i: number) => Promise<void>): Promise<void> {
    let next = 0
    await Promise.all(Array.from({ length: this.#clients }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      try {
        for (let i = next++; i < count; i = next++) await work(agent, i)
      } finally {
        agent.destroy()
      }
    }))
  }
}

/**
 * The same for the same number, and all tempers mixed throughout: a step that has no factor in common with a thousand.
 */
function temperOf (i: number): Temper {
  let place = (i * 387) % 1000
  for (const [temper, share] of shares) {
    if (place < share) return temper
    place -= share
  }
  return 'fast'
}

async function ask (agent: Agent, url: string, path: string, body: object): Promise<Reply> {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const sent = request(`${url}${path}`, { agent, method: 'POST', headers }).end(text)
  const [reply] = await once(sent, 'response') as [IncomingMessage]
  const received = (await reply.setEncoding('utf8').toArray()).join('')
  return { http: reply.statusCode ?? 0, body: JSON.parse(received) as Reply['body'] } // what it holds is then compared
}
