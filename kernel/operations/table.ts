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

/** The table of all operations. Transports are derived from it. A new operation needs a file here and an entry. */
export const operations: readonly Operation[] = [
  listSkills, getSkill, listSkillFiles, readSkillFile, execute, listExecutions, getExecution, cancelExecution,
  searchSkills, health, version
]

export {
  cancelExecution, execute, getExecution, getSkill, health, listExecutions, listSkillFiles, listSkills, readSkillFile,
  searchSkills, version
}
