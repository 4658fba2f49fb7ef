import { messageOf, type SkillDefinition } from '../../../kernel/index.ts'
import { ConfinementError } from '../sandbox/confinement-policy.ts'
import { NetworkList } from './network-list.ts'

/**
 * What a skill lists as its network; undefined where it lists nothing, since it may reach all or nothing.
 * @throws ConfinementError when it can't be read, as that of a skill that no reader of ours has checked
 */
export function networkListOf ({ name, permissions: { network } }: SkillDefinition): NetworkList | undefined {
  if (typeof network === 'boolean') return undefined
  try {
    return new NetworkList(network)
  } catch (error) {
    throw new ConfinementError(`${name} can't run: permissions/network: ${messageOf(error)}`, { cause: error })
  }
}
