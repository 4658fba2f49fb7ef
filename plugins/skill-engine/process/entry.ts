import { reportModule } from '../../toolkit/describing/report.ts'
import { describeCode, textOf } from '../thread/describe-code.ts'

/**
 * The process in which the code of one skill is asked, confined, which tools it has. The server believes nothing that
 * it says before it was checked.
 */
await reportModule<CodeData>(async (module, { name }) => ({ text: textOf(await describeCode(name, module)) }))

/** What the process is told. `name`: the file that messages name. */
export interface CodeData { name: string }
