import { pauses, type SkillDefinition, type ToolDefinition } from '../../../kernel/index.ts'
import { plain, wordsOf } from './words.ts'

/** A tool that can be found. */
export interface Findable {
  readonly skill_name: string
  readonly tool_name: string
  readonly description: string
  readonly runtime: string
}

/** The numbers of the tools that have a word. */
export interface Postings {
  readonly tools: number[]
  /** The share of the word's weight that counts in each of these tools, within 0..1. */
  readonly counts: number[]
  /** The tools that have the word in their names. */
  readonly named: number[]
  weight: number
}

/** The tables of an index; a tool's number is its place in `tools`. */
export interface Tables {
  readonly tools: readonly Findable[]
  /** The postings by word. */
  readonly postings: ReadonlyMap<string, Postings>
  /** Words by their first character, which is rarely mistyped. */
  readonly byFirst: ReadonlyMap<string, readonly string[]>
  /** The sum of the weights of the words of each tool's name. */
  readonly nameWeights: Float32Array
  /** Tools by the plain form of their names, with and without the skill's name before it. */
  readonly byName: ReadonlyMap<string, readonly number[]>
}

type Field = 'tool' | 'skill' | 'parameters' | 'description' | 'about'
/** The words of a tool, by field. */
type Document = Readonly<Record<Field, readonly string[]>>

const fields: readonly Field[] = ['tool', 'skill', 'parameters', 'description', 'about']
/** The weight of a word by its field. `about`, the skill's description, is lowest: all tools of a skill share it. */
const weights: Readonly<Record<Field, number>> = { tool: 2, skill: 1, parameters: 1, description: 1, about: 0.3 }
/** The parameters of BM25, k1 and b: the saturation of repeated words, and the penalty for long fields. */
const saturation = 1.5
const length_share = 0.75
/** Only the beginning of long texts is indexed. */
const fieldCharactersMax = 4_000

/** Makes the tables of an index in small steps, so that the event loop is not blocked. */
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
  /** The number of words of all tools together, by field. */
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

  /** Counts the words of a tool. Must be called after all tools were added. */
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
 * The weight of a word: the fewer tools have it, the higher. A word that no tool has gets the weight of a word of
 * medium frequency.
 */
export function weightOf (having: number, all: number): number {
  const seen = having === 0 ? Math.sqrt(all) : having
  return Math.log(1 + (all - seen + 0.5) / (seen + 0.5))
}

/** The words of a name or text; for an identifier, its parts and the whole, since a query may contain the whole. */
function terms (text: string): string[] {
  const words = wordsOf(text.slice(0, fieldCharactersMax))
  return words.flatMap(({ whole, parts }) => parts.length > 1 ? [...parts, whole] : parts)
}

/** The text of a parameter. A description that repeats the name counts once. */
function textOf ({ name, description }: ToolDefinition['parameters'][number]): string {
  return name.toLowerCase() === description.toLowerCase() ? name : `${name} ${description}`
}

/** The number of occurrences of each word in a tool, weighted by the weights and lengths of the fields. */
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
