import type { Operation } from '../contracts/operation.ts'
import { cancelExecution } from './cancel-execution.ts'
import { approveExecution, denyExecution } from './decide-execution.ts'
import { cancelExecutions } from './cancel-executions.ts'
import { execute } from './execute.ts'
import { getExecution } from './get-execution.ts'
import { getSkill } from './get-skill.ts'
import { getStatistics } from './get-statistics.ts'
import { health } from './health.ts'
import { listApprovals } from './list-approvals.ts'
import { listExecutions } from './list-executions.ts'
import { listSkills } from './list-skills.ts'
import { listSkillFiles, readSkillFile } from './skill-files.ts'
import { retryExecution } from './retry-execution.ts'
import { searchSkills } from './search-skills.ts'
import { version } from './version.ts'

/** The table of all operations. Transports are derived from it. A new operation needs a file here and an entry. */
export const operations: readonly Operation[] = [
  listSkills, getSkill, listSkillFiles, readSkillFile, execute, listExecutions, getExecution, cancelExecution,
  cancelExecutions, retryExecution, listApprovals, approveExecution, denyExecution, getStatistics, searchSkills, health,
  version
]

export {
  approveExecution, cancelExecution, cancelExecutions, denyExecution, execute, getExecution, getSkill, getStatistics,
  health, listApprovals, listExecutions, listSkillFiles, listSkills, readSkillFile, retryExecution, searchSkills,
  version
}
