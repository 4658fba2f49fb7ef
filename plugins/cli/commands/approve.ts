import { approveExecution } from '../../../kernel/index.ts'
import { decides } from '../decide.ts'

/** `skillet approve ID`: lets an execution run that waits for an approval, whichever process has it. */
export default decides(approveExecution, 'approved')
