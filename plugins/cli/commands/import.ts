import type { DefineCommand } from '../command.ts'
import { defineImportMcp } from '../mcp/import.ts'
import { defineImportOpenapi } from '../openapi/import.ts'
import { defineImportSkillEngine } from '../skill-engine/import.ts'

/** `skillet import openapi|mcp|skill-engine`: makes skills of what exists elsewhere. */
const define: DefineCommand = (command, context) => {
  defineImportOpenapi(command.command('openapi'), context)
  defineImportMcp(command.command('mcp'), context)
  defineImportSkillEngine(command.command('skill-engine'), context)
}
export default define
