import type { Operation } from '../contracts/operation.ts'
import { cancelExecution } from './cancel-execution.ts'
import { execute } from './execute.ts'
import { getExecution } from './get-execution.ts'
import { getSkill } from './get-skill.ts'
import { health } from './health.ts'
import { listExecutions } from './list-executions.ts'
import { listSkills } from './list-skills.ts'
import { listSkillFiles, readSkillFile } from './skill-files.ts'
import { searchSkills } from './search-skills.ts'
import { version } from './version.ts'

/** The table: every operation once. Transports fold over it; a new operation is a file here and a row. */
export const operations: readonly Operation[] = [
  listSkills, getSkill, listSkillFiles, readSkillFile, execute, listExecutions, getExecution, cancelExecution, searchSkills, health, version
]

export { cancelExecution, execute, getExecution, getSkill, health, listExecutions, listSkillFiles, listSkills, readSkillFile, searchSkills, version }
