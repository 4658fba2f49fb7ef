import { EXECUTION_STATUSES, type ExecutionQuery } from '../../kernel/index.ts'
import { base_ms, casesMin, finals, names, type Command } from './storage-model.ts'

/** Draws the same cases each time, and says of one that fails which it was. */
export async function drawCases (check: (commands: Command[]) => Promise<void>): Promise<void> {
  for (let seed = 1; seed <= casesMin; seed++) {
    const draw = new Draw(seed)
    const commands = Array.from({ length: draw.integer(0, 40) }, () => command(draw))
    try {
      await check(commands)
    } catch (error) {
      throw new Error(`case ${seed} of ${casesMin}: ${JSON.stringify(commands).slice(0, 2_000)}`, { cause: error })
    }
  }
}

/** Numbers that look like chance (mulberry32). */
class Draw {
  #state: number

  constructor (seed: number) {
    this.#state = seed
  }

  /** From `min` to `max`, both included. */
  integer (min: number, max: number): number {
    this.#state = this.#state + 0x6d2b79f5 | 0
    let mixed = Math.imul(this.#state ^ this.#state >>> 15, 1 | this.#state)
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed
    return min + ((mixed ^ mixed >>> 14) >>> 0) % (max - min + 1)
  }

  one<T> (values: readonly [T, ...T[]] | readonly T[]): T {
    return values[this.integer(0, values.length - 1)] as T // none of the lists here is empty
  }
}

function command (draw: Draw): Command {
  switch (draw.integer(0, 4)) {
    case 0: return {
      do: 'save', count: draw.one([1, draw.integer(1, 150)]), skill: draw.one(names), tool: draw.one(names),
      status: draw.one(EXECUTION_STATUSES), at: draw.integer(0, 20), output: draw.one([text(draw), 'x'.repeat(3_000)])
    }
    case 1: return { do: 'finish', which: draw.integer(0, 100_000), status: draw.one(finals) }
    case 2: return { do: 'interrupt', every: draw.integer(1, 5) }
    case 3: return { do: 'commit' }
    default: return { do: 'list', query: query(draw) }
  }
}

/** Of any characters, halves of pairs included. */
function text (draw: Draw): string {
  return String.fromCharCode(
    ...Array.from({ length: draw.integer(0, 10) }, () => draw.one([draw.integer(0, 0x7f), draw.integer(0, 0xffff)]))
  )
}

function query (draw: Draw): ExecutionQuery {
  const maybe = <Fields extends Partial<ExecutionQuery>>(fields: Fields): Partial<Fields> =>
    draw.integer(0, 1) === 0 ? {} : fields
  return {
    limit: draw.integer(1, 40),
    offset: draw.one([0, draw.integer(0, 600)]),
    ...maybe({ skill_name: draw.one(names) }),
    ...maybe({ tool_name: draw.one(names) }),
    ...maybe({ status: draw.one(EXECUTION_STATUSES) }),
    ...maybe({ created_from_ms: base_ms + draw.integer(0, 20) * 1000 }),
    ...maybe({ created_before_ms: base_ms + draw.integer(0, 20) * 1000 }),
    ...maybe({ allows: draw.one([
      (skill: string) => skill === 'git', (skill: string, tool: string) => skill === 'a' || tool === 'ab'
    ]) })
  }
}
