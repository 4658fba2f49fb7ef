import { Type, type Static } from 'typebox'
import { defineSection, schemas, textList } from '../../kernel/index.ts'

/** The part of the section `skills` that names directories; the kernel declares `skills.config`. */
export type DirectorySettings = Static<typeof skillsSection.schema>
export const skillsSection = defineSection('skills', 'Where skills come from', {
  bundled: Type.Boolean({ default: true, description: 'Serve the bundled skills' }),
  directories: textList('Directories of skill folders; later ones shadow earlier ones', 'directory'),
  trusted: textList('Directories whose script skills are trusted', 'directory'),
  locked: Type.Boolean({
    default: false, description: 'Whether skills that were never trusted, or changed since, are kept from serving'
  })
})

/** The options in `[plugin.skills-directory]`. */
const options = Type.Object({
  describe_ms: Type.Integer({
    default: 10_000, minimum: 100, maximum: 60_000,
    description: 'How long listing a directory or describing one skill may take, in milliseconds'
  }),
  patience_ms: Type.Integer({
    default: 1_500, minimum: 0, maximum: 60_000,
    description: 'How long a skill that was changed to something broken must stay so before it is reported, in milliseconds'
  }),
  wait_ms: Type.Integer({
    default: 15_000, minimum: 100, maximum: 600_000,
    description: 'How long the start, or a change, waits for all skills to be read, in milliseconds, and a third of it where only modules are left that take long; they serve as soon as they are read'
  }),
  watch: schemas.Choice(['events', 'polling', 'off'], {
    default: 'events',
    description: 'How changes are found while the server runs: by events of the file system, by looking every two seconds (network file systems), or not at all'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'skills-directory', sections: [skillsSection], options }
