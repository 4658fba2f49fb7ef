import { resolve } from 'node:path'
import type { Task } from '../../kernel/index.ts'
import type { Command } from '../toolkit/expand-command.ts'
import { programOf } from './locate.ts'
import type { Subject } from './outcome.ts'

/** @param directory the absolute path of the directory for commands that name none */
export function subjectOf (
  { skill, tool }: Task, command: Command, directory: string, outputBytesMax: number
): Subject {
  return {
    name: `${skill.name}:${tool.name}`,
    program: programOf(command.program, skill.directory),
    cwd: command.cwd === undefined ? directory : resolve(directory, command.cwd),
    outputBytesMax,
    ...(tool.script !== undefined && { script: tool.script })
  }
}
