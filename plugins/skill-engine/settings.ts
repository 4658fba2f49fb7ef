import { Type } from 'typebox'
import { textList } from '../../kernel/index.ts'

/** The options in `[plugin.skill-engine]`. */
const options = Type.Object({
  directories: textList('Folders with skills of the Skill Engine, or with a manifest of it, or directories of such folders; read in place', 'directory'),
  trusted: textList('Directories whose skills of the Skill Engine are trusted', 'directory'),
  programs: textList('Programs that results of these skills may name, beside kubectl, helm, git, curl, jq, aws, gcloud, az, docker, terraform and psql'),
  describe_ms: Type.Integer({
    default: 10_000, minimum: 100, maximum: 60_000,
    description: 'How long describing the code of one skill may take, in milliseconds'
  }),
  watch_ms: Type.Integer({
    default: 2_000, minimum: 0, maximum: 3_600_000,
    description: 'How often the server looks for changes of these skills, in milliseconds; 0: never'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'skill-engine', options }
