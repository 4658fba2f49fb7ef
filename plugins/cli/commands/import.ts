import type { DefineCommand } from '../command.ts'
import { defineImportOpenapi } from '../openapi/import.ts'

/** `skillet import openapi`: makes skills of what exists elsewhere. */
const define: DefineCommand = (command, context) => {
  defineImportOpenapi(command.command('openapi'), context)
}
export default define
