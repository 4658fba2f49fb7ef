import { pathToFileURL } from 'node:url'
import { parsedValue, skillModuleOf, type SkillModule } from '../run/skill-module.ts'
import type { Load } from './adapter.ts'
import { replyMax, type DescribeFault, type FaultKind } from './protocol.ts'

/*
 * Runs the code of a skill, in a thread or in a process of its own. This file and what it imports use nothing of the
 * kernel, which would take most of the time of such a process.
 */

/** Saved here before the code can replace it. */
const { stringify } = JSON
const env = Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) =>
  value === undefined ? [] : [[name, value]]))

/** What code says of itself: values that JSON can hold. */
export interface Told { metadata: unknown, tools: unknown }

/**
 * Asks code what it is and which tools it has.
 * @param name the file that messages name
 * @param module the absolute path of the built file
 */
export async function describeCode (name: string, module: string): Promise<Told | DescribeFault> {
  let loaded: unknown
  try {
    const { load } = await import(pathToFileURL(module).href) as { load: Load }
    loaded = await load(() => ({ config: {}, env }))
  } catch (error) {
    return faultOf('code-error', `${name} failed while it was imported: ${messageOf(error)}`)
  }
  let skill: SkillModule
  try {
    skill = skillModuleOf(loaded)
  } catch (error) {
    return faultOf('exports-missing', `${name}: ${error instanceof Error ? error.message : messageOf(error)}`)
  }
  try {
    const metadata = parsedValue(await skill.getMetadata?.())
    const tools = parsedValue(await skill.getTools())
    return { metadata, tools }
  } catch (error) {
    return faultOf('tools-invalid', `${name}: getMetadata() or getTools() failed: ${messageOf(error)}`)
  }
}

/** A reply as JSON text, or a fault where it is none, or too long. */
export function textOf (reply: object): string {
  try {
    const text = stringify(reply)
    if (text.length <= replyMax) return text
    return stringify(faultOf('tools-invalid', `getTools() returns more than ${replyMax} characters`))
  } catch (error) {
    return stringify(faultOf('tools-invalid', `getTools() returns what is no JSON: ${messageOf(error)}`))
  }
}

export function faultOf (kind: FaultKind, message: string): DescribeFault {
  return { fault: kind, message: message.slice(0, 2_000) }
}

export function messageOf (error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.split('\n', 1)[0] ?? ''
}
