import { denyExecution } from '../../../kernel/index.ts'
import { decides } from '../decide.ts'

/** `skillet deny ID`: ends an execution that waits for an approval, whichever process has it. */
export default decides(denyExecution, 'denied')
