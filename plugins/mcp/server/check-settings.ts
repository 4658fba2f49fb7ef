import { agentToolNames } from '../agent/names.ts'
import type { McpSettings } from '../settings.ts'
import { checkAddresses } from './addresses.ts'

/**
 * Checks what the schema of the settings can't.
 * @throws Error naming the setting and the value that can't be used
 */
export function checkSettings ({ names, resources }: Pick<McpSettings, 'names' | 'resources'>): void {
  checkAddresses(resources)
  const taken = agentToolNames.find(name => Object.hasOwn(names, name))
  if (taken !== undefined) throw new Error(`mcp.names: "${taken}" is a tool of Skillet; choose another name`)
}
