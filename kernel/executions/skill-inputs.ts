import type { Config } from '../contracts/config.ts'
import { splitInstance } from '../contracts/names.ts'
import type { JsonObject } from '../contracts/schemas.ts'
import type { Job } from '../contracts/services.ts'
import type { SkillDefinition } from '../contracts/skill.ts'
import { messageOf } from '../lib/errors.ts'
import { createRedactor, type Redactor } from '../secrets/redact.ts'
import type { Secrets } from '../secrets/secrets.ts'

/** The settings of a skill without a section in the configuration. */
const unset = Object.freeze({})

/** The secrets of a run's skill, and the reason when they are not available. */
export interface SkillSecrets { values: Record<string, string>, refusal: string | undefined }

/** The inputs of a run beside its parameters: the settings and the secrets of its skill. */
export class SkillInputs {
  readonly #config: Config
  readonly #secrets: Secrets
  readonly #private_paths: readonly string[]
  /** Settings of skills that need more than their own section. A skill object always gets the same settings object. */
  readonly #settings = new WeakMap<SkillDefinition, JsonObject>()

  /** @param private_paths files and folders that must be refused by tools which read files for callers */
  constructor (config: Config, secrets: Secrets, private_paths: readonly string[]) {
    this.#config = config
    this.#secrets = secrets
    this.#private_paths = private_paths
  }

  /** The settings of a skill, or of an instance: those of its skill, and its own, which win. */
  settingsOf (skill: SkillDefinition): JsonObject {
    const { config, instances } = this.#config.skills
    const { skill: name, instance } = splitInstance(skill.name)
    const own = config[name] ?? unset
    if (skill.reads_files !== true && skill.config_from === undefined && instance === undefined) return own
    let whole = this.#settings.get(skill)
    if (whole === undefined) {
      const behind = skill.config_from === undefined ? undefined : config[skill.config_from]
      const ofInstance = instance === undefined ? undefined : instances[name]?.[instance]?.config
      const ofKernel = skill.reads_files === true && { private_paths: this.#private_paths }
      whole = { ...behind, ...own, ...ofInstance, ...ofKernel }
      this.#settings.set(skill, whole)
    }
    return whole
  }

  /** As `secretsOf`. @throws Error when they are not available */
  valuesOf (skill: SkillDefinition): Readonly<Record<string, string>> | undefined {
    const secrets = this.secretsOf(skill)
    if (secrets?.refusal !== undefined) throw new Error(secrets.refusal)
    return secrets?.values
  }

  /**
   * The secrets of a skill; undefined when the skill declares none. They are looked up for every run, so that a changed
   * secret takes effect.
   */
  secretsOf ({ name, permissions }: SkillDefinition): SkillSecrets | undefined {
    if (permissions.secrets.length === 0) return undefined
    try {
      const { values, missing } = this.#secrets.of(name, permissions.secrets)
      const remedy = `set it: skillet secret set ${name} ${missing[0]}`
      return { values, refusal: missing[0] && `the skill "${name}" needs the secret ${missing.join(', ')}; ${remedy}` }
    } catch (error) {
      return { values: {}, refusal: `the secrets of the skill "${name}" can't be used: ${messageOf(error)}` }
    }
  }
}

/** Makes the redactor that removes the secret values of a run from stored and sent data; undefined without secrets. */
export function redactorOf ({ tool, parameters }: Job, secrets: SkillSecrets | undefined): Redactor | undefined {
  if (secrets === undefined && tool.secrets.length === 0) return undefined
  const values = tool.secrets.map(name => Object.hasOwn(parameters, name) ? parameters[name] : undefined)
  return createRedactor([...values, ...Object.values(secrets?.values ?? {})])
}
