import { configHome, definePlugin, type SkillSource } from '../../kernel/index.ts'
import { toolListFolder } from '../toolkit/mcp/tool-list.ts'
import { TrustFile } from '../toolkit/trust/trust-file.ts'
import { Describing } from './descriptions/skill-descriptions.ts'
import { examine } from './examine.ts'
import { Follow } from './library/follow.ts'
import { Interpreters } from './descriptions/interpreters.ts'
import { Library } from './library/library.ts'
import { placesOf } from './listing/places.ts'
import { declared, skillsSection } from './settings.ts'
import { examineTrust } from './trust/examine-trust.ts'
import { SkillTrust } from './trust/skill-trust.ts'

/**
 * Skills from directories of skill folders: the bundled ones, those under the user's configuration directory, and the
 * configured ones. A long-lived kernel follows their changes, and adds skills that take long to read when they are
 * ready.
 */
export default definePlugin({
  ...declared,
  slot: 'skills',
  examine: async ({ config, skills, signal }) =>
    [...examineTrust(skillsSection.of(config)), ...await examine(skills, signal)],
  setup (context, { describe_ms, patience_ms, wait_ms, watch }): SkillSource {
    const { config, scope, log, data_dir, health } = context
    const stopped = new AbortController()
    scope.defer(() => { stopped.abort(new Error('the plugin was stopped')) })
    const settings = skillsSection.of(config)
    const describing = new Describing(context, describe_ms)
    scope.defer(() => describing.close())
    const interpreters = new Interpreters(config.skills.config)
    const trust = new SkillTrust({
      directories: settings.trusted, file: new TrustFile(configHome(process.env)), locked: settings.locked,
      kept_folder: toolListFolder(data_dir)
    })
    const library = new Library({
      places: placesOf(settings), trust, describing, interpreters, list_ms: describe_ms, patience_ms, wait_ms,
      confines: config.isolation.mode !== 'off'
    })
    let followed = false
    return {
      load: async (signal, only) =>
        followed ? library.loaded : await library.load(AbortSignal.any([signal, stopped.signal]), only),
      watch (changed) {
        const follow = new Follow({ library, changed, mode: watch, log, health })
        scope.defer(() => follow.close())
        followed = true
        return () => follow.close()
      }
    }
  }
})
