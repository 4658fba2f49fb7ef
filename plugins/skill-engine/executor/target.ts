import type { ToolDefinition } from '../../../kernel/index.ts'
import type { Target } from '../run/settings.ts'

/** How a tool is run. @throws Error for a tool that no source of this plugin made */
export function targetOf ({ name, target }: ToolDefinition): Target {
  if (target === undefined) throw new Error(`the tool ${name} does not say how it is run`)
  return target as unknown as Target // the source of this plugin made it
}
