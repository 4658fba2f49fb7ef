import type { Container } from '../config/docker.ts'
import type { Instance, UnusableInstance } from '../config/instance.ts'
import type { Service } from '../config/manifest.ts'
import type { EngineTool } from '../text/parameters.ts'

/** A skill of the engine, as it was found. */
export interface EngineSkill {
  name: string
  description: string
  version: string
  /** `script`: code; `native`: commands that are built from a text; `unsupported`: listed, and not run. */
  runtime: 'script' | 'native' | 'container' | 'unsupported'
  /** Absolute path. */
  folder: string
  tools: EngineTool[]
  /** What is odd about it, each as `word: subject`. */
  notes: string[]
  instructions?: string
  /** The entries of `allowed-tools`. */
  allowedTools: readonly string[]
  /** Its instances by name. Without any, it has the settings of `defaults`. */
  instances: ReadonlyMap<string, Instance | UnusableInstance>
  defaults: Instance | UnusableInstance
  default_instance?: string
  services: Service[]
  /** Of a script: the built file in the cache, and the files of which it was built. */
  code?: { file: string, inputs: string[] }
  container?: Container | UnusableInstance
  /** Why calls fail, of an unsupported one. */
  reason?: string
}

/** A folder, or an entry of a manifest, that can't be served. */
export interface Refused {
  /** The name of the skill, or of the folder. */
  name: string
  /** The file or folder at fault. */
  path: string
  /** The kind of the reason. */
  reason: string
  message: string
}

/** The settings that a skill has when a call names no instance. */
export function defaultInstanceOf (
  { instances, default_instance, defaults }: Pick<EngineSkill, 'instances' | 'default_instance' | 'defaults'>
): { name: string | undefined, instance: Instance | UnusableInstance } {
  for (const name of [default_instance, 'default']) {
    const instance = name === undefined ? undefined : instances.get(name)
    if (name !== undefined && instance !== undefined) return { name, instance }
  }
  return { name: undefined, instance: defaults }
}

/** Thrown while a skill is read: it is refused. */
export class Refusal extends Error {
  readonly reason: string
  readonly path: string

  constructor (reason: string, path: string, message: string) {
    super(message)
    this.reason = reason
    this.path = path
  }
}
