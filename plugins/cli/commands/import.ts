import type { DefineCommand } from '../command.ts'
import { defineImportMcp } from '../mcp/import.ts'
import { defineImportOpenapi } from '../openapi/import.ts'

/** `skillet import openapi`, `skillet import mcp`: makes skills of what exists elsewhere. */
const define: DefineCommand = (command, context) => {
  defineImportOpenapi(command.command('openapi'), context)
  defineImportMcp(command.command('mcp'), context)
}
export default define
