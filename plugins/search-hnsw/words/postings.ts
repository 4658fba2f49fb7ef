import { pauses, type SkillDefinition, type ToolDefinition } from '../../../kernel/index.ts'
import { plain, wordsOf } from './words.ts'

/** A tool that can be found. */
export interface Findable {
  readonly skill_name: string
  readonly tool_name: string
  readonly description: string
  readonly runtime: string
}

/** The tools that have a word, by number. */
export interface Postings {
  readonly tools: number[]
  /** How much the word counts in each of these tools, within 0..1. */
  readonly counts: number[]
  /** The tools that have the word in their names. */
  readonly named: number[]
  weight: number
}

/** The tables of an index; a tool's number is its place in `tools`. */
export interface Tables {
  readonly tools: readonly Findable[]
  /** By word. */
  readonly postings: ReadonlyMap<string, Postings>
  /** Words by their first character, which is seldom mistyped. */
  readonly byFirst: ReadonlyMap<string, readonly string[]>
  /** The sum of the weights of the words of each tool's name. */
  readonly nameWeights: Float32Array
  /** Tools by their names as `plain` writes them, alone and behind their skills'. */
  readonly byName: ReadonlyMap<string, readonly number[]>
}

type Field = 'tool' | 'skill' | 'parameters' | 'description' | 'about'
/** The words of a tool, by the field in which they stand. */
type Document = Readonly<Record<Field, readonly string[]>>

const fields: readonly Field[] = ['tool', 'skill', 'parameters', 'description', 'about']
/** The weight of a word by its field. A skill's description is the same for all of its tools, and so says least. */
const weights: Readonly<Record<Field, number>> = { tool: 2, skill: 1, parameters: 1, description: 1, about: 0.3 }
/** Of BM25: how fast further occurrences stop to count, and how much a long field counts less. */
const saturation = 1.5
const length_share = 0.75
/** Only the beginning of long texts is indexed. */
const fieldCharactersMax = 4_000

/** Makes the tables of an index in small steps, so that the event loop turns meanwhile. */
export async function tablesOf (skills: readonly SkillDefinition[]): Promise<Tables> {
  const pause = pauses()
  const draft = new Draft()
  for (const skill of skills) {
    const ofSkill = { skill: terms(skill.name), about: terms(skill.description) }
    for (const tool of skill.tools) {
      draft.add(skill, tool, ofSkill)
      await pause()
    }
  }
  for (const [number, document] of draft.documents.entries()) {
    draft.count(number, document)
    await pause()
  }
  const { tools, postings, byName } = draft
  const byFirst = new Map<string, string[]>()
  const nameWeights = new Float32Array(tools.length)
  for (const [term, posting] of postings) {
    posting.weight = weightOf(posting.tools.length, tools.length)
    for (const tool of posting.named) nameWeights[tool] = (nameWeights[tool] ?? 0) + posting.weight
    if (posting.tools.length > 0) entry(byFirst, term.charAt(0), () => []).push(term)
    await pause()
  }
  return { tools, postings, byFirst, nameWeights, byName }
}

/** The tables while tools are added to them. */
class Draft {
  readonly tools: Findable[] = []
  readonly byName = new Map<string, number[]>()
  readonly postings = new Map<string, Postings>()
  readonly documents: Document[] = []
  /** Words of all tools together, by field. */
  readonly #lengths: Record<Field, number> = { tool: 0, skill: 0, parameters: 0, description: 0, about: 0 }

  add (skill: SkillDefinition, tool: ToolDefinition, ofSkill: Pick<Document, 'skill' | 'about'>): void {
    const document = {
      ...ofSkill,
      tool: terms(tool.name),
      parameters: terms(tool.parameters.map(textOf).join(' ')),
      description: terms(tool.description)
    }
    for (const field of fields) this.#lengths[field] += document[field].length
    const number = this.documents.push(document) - 1
    const { name, description } = tool
    this.tools.push({ skill_name: skill.name, tool_name: name, description, runtime: skill.runtime })
    const words = new Set(wordsOf(name, true).flatMap(({ parts }) => parts))
    for (const word of words) this.#postingsOf(word).named.push(number)
    for (const key of new Set([name, `${skill.name}${name}`].map(plain))) {
      if (key !== '') entry(this.byName, key, () => []).push(number)
    }
  }

  /** Counts the words of a tool, once all tools are there. */
  count (number: number, document: Document): void {
    for (const [term, occurrences] of weigh(document, this.#lengths, this.documents.length)) {
      const { tools, counts } = this.#postingsOf(term)
      tools.push(number)
      counts.push(occurrences / (saturation + occurrences))
    }
  }

  #postingsOf (term: string): Postings {
    return entry(this.postings, term, () => ({ tools: [], counts: [], named: [], weight: 0 }))
  }
}

/**
 * The weight of a word: the fewer tools have it, the more. A word that no tool has weighs like a word of middling
 * rarity.
 */
export function weightOf (having: number, all: number): number {
  const seen = having === 0 ? Math.sqrt(all) : having
  return Math.log(1 + (all - seen + 0.5) / (seen + 0.5))
}

/** The words of a name or text; of an identifier its parts and the whole, which somebody may type. */
function terms (text: string): string[] {
  const words = wordsOf(text.slice(0, fieldCharactersMax))
  return words.flatMap(({ whole, parts }) => parts.length > 1 ? [...parts, whole] : parts)
}

/** The text of a parameter. A description that repeats the name counts once. */
function textOf ({ name, description }: ToolDefinition['parameters'][number]): string {
  return name.toLowerCase() === description.toLowerCase() ? name : `${name} ${description}`
}

/** How often each word stands in a tool's fields, by the fields' weights and lengths. */
function weigh (document: Document, lengths: Readonly<Record<Field, number>>, documents: number): Map<string, number> {
  const occurrences = new Map<string, number>()
  for (const field of fields) {
    const words = document[field]
    const relative = words.length / Math.max(1, lengths[field] / documents)
    const each = weights[field] / (1 - length_share + length_share * relative)
    for (const word of words) occurrences.set(word, (occurrences.get(word) ?? 0) + each)
  }
  return occurrences
}

function entry<Value> (map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) map.set(key, value = make())
  return value
}
