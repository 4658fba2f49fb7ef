import type { Tool } from '../../../kernel/index.ts'

/** A tool of a skill that is shown under a name of its own. */
export interface DirectTool {
  skill_name: string
  tool_name: string
  tool: Tool
  /** The parameter, beside those of the tool, that names the instance of its skill. */
  instance_parameter?: string
}
