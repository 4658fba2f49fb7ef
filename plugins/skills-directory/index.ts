import { Type } from 'typebox'
import { definePlugin, schemas, type SkillSource } from '../../kernel/index.ts'
import { Describing } from './descriptions/skill-descriptions.ts'
import { examine } from './examine.ts'
import { Follow } from './library/follow.ts'
import { Interpreters } from './descriptions/interpreters.ts'
import { Library } from './library/library.ts'
import { placesOf } from './listing/places.ts'

/**
 * Skills from directories of skill folders: the bundled ones, those under the user's configuration directory, and the
 * configured ones. A long-lived kernel follows their changes, and adds skills that take long to read when they are
 * ready.
 */
export default definePlugin({
  name: 'skills-directory',
  slot: 'skills',
  options: Type.Object({
    describe_ms: Type.Integer({ default: 10_000, minimum: 100, maximum: 60_000, description: 'How long listing a directory or describing one skill may take, in milliseconds' }),
    patience_ms: Type.Integer({ default: 1_500, minimum: 0, maximum: 60_000, description: 'How long a skill that was changed to something broken must stay so before it is reported, in milliseconds' }),
    wait_ms: Type.Integer({ default: 15_000, minimum: 100, maximum: 600_000, description: 'How long the start, or a change, waits for all skills to be read, in milliseconds, and a third of it where only modules are left that take long; they serve as soon as they are read' }),
    watch: schemas.Choice(['events', 'polling', 'off'], { default: 'events', description: 'How changes are found while the server runs: by events of the file system, by looking every two seconds (network file systems), or not at all' })
  }, { additionalProperties: false }),
  examine: ({ skills, signal }) => examine(skills, signal),
  setup ({ config, scope, log, data_dir, health }, { describe_ms, patience_ms, wait_ms, watch }): SkillSource {
    const stopped = new AbortController()
    scope.defer(() => { stopped.abort(new Error('the plugin was stopped')) })
    const describing = new Describing({ config, data_dir, describe_ms, log })
    scope.defer(() => describing.close())
    const interpreters = new Interpreters(config.skills.config)
    const library = new Library({ places: placesOf(config.skills), describing, interpreters, list_ms: describe_ms, patience_ms, wait_ms })
    let followed = false
    return {
      load: async (signal, only) => followed ? library.loaded : await library.load(AbortSignal.any([signal, stopped.signal]), only),
      watch (changed) {
        const follow = new Follow({ library, changed, mode: watch, log, health })
        scope.defer(() => follow.close())
        followed = true
        return () => follow.close()
      }
    }
  }
})
