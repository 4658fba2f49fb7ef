import { reportModule } from '../../toolkit/describing/report.ts'
import { importExported } from '../reader/exported.ts'
import { SkillFault } from '../shared/files.ts'

/**
 * The process in which the module of one skill is imported, confined, to find out which tools it has. The server
 * believes nothing that it says before it was checked.
 */
await reportModule<ModuleData>(async (module, { path }) => {
  try {
    return { exported: await importExported(path, module) }
  } catch (error) {
    return { fault: error instanceof SkillFault ? error.message : 'its module can\'t be read' }
  }
})

/** What the process is told. `path`: the file of the skill of which the module was built. */
export interface ModuleData { path: string }
