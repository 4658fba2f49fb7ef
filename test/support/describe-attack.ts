// A server of its own that lists skills, some of which attack it: tells what it lists, as JSON.
//   node describe-attack.js MODE DATA_DIR SKILLS TRUSTED
import type { LoadedSkills } from '../../kernel/index.ts'
import plugin from '../../plugins/skills-directory/index.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

export type Listed = Pick<LoadedSkills, 'skills' | 'quarantined'>

const [, , mode, data_dir = '', skills = '', trusted = ''] = process.argv
const { service, close } = await openPlugin(plugin, {
  config: {
    isolation: { mode }, execution: { heap_bytes_max: 64 * 1_048_576 },
    skills: { bundled: false, directories: [skills, trusted], trusted: [trusted] },
    plugin: { 'skills-directory': { describe_ms: 4_000, wait_ms: 120_000 } }
  },
  data_dir
})
const listed: Listed = await service.load(new AbortController().signal)
process.stdout.write(JSON.stringify(listed))
await close()
