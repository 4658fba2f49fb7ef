import { Type, type Static } from 'typebox'
import { Choice } from './schemas.ts'

/** The states of a supervised plugin. */
export const PLUGIN_STATES = ['starting', 'ready', 'degraded', 'stopping', 'stopped', 'failed'] as const
export type PluginState = typeof PLUGIN_STATES[number]

export type PluginStatus = Static<typeof PluginStatus>
export const PluginStatus = Type.Object({
  name: Type.String(),
  state: Choice(PLUGIN_STATES, { title: 'PluginState', description: 'State of a plugin' }),
  reason: Type.Optional(Type.String({ description: 'Why it is not well' })),
  warning: Type.Optional(Type.String({ description: 'What it can\'t promise here, though it is well' }))
}, { title: 'PluginStatus', description: 'State of a plugin' })

/** The state of a search. */
export type SearchState = Static<typeof SearchState>
export const SearchState = Type.Object({
  mode: Type.String({ description: 'The method that serves now, as in the answers' }),
  model: Choice(['none', 'idle', 'loading', 'indexing', 'ready', 'failed'], {
    title: 'ModelState',
    description: 'What the model that compares meanings does: there is none, it waits for the first search, it is loaded, it embeds tools, it serves, it can\'t serve'
  }),
  indexed: Type.Integer({ minimum: 0, description: 'Tools that are embedded' }),
  total: Type.Integer({ minimum: 0, description: 'Tools that can be found' })
}, { title: 'SearchState', description: 'How far the search is' })

/** The kind of a fault or a warning that is about the trust of a skill. */
const SkillTrust = Choice(['changed', 'none'], {
  title: 'SkillTrust',
  description: 'Where it is about trust: the files of the skill `changed` since the user trusted them, or there are `none` that were trusted'
})

/** A skill that could not be loaded, or a tool that could not be loaded while the other tools of its skill work. */
export type QuarantinedSkill = Static<typeof QuarantinedSkill>
export const QuarantinedSkill = Type.Object({
  name: Type.String({ description: 'Name of the skill folder' }),
  tool: Type.Optional(Type.String({ description: 'Name of the tool, where the others of its skill serve' })),
  path: Type.String({ description: 'The file or folder at fault' }),
  error: Type.String({ description: 'What is wrong with it' }),
  serving: Type.Optional(Type.Boolean({ description: 'Whether the last version without a fault goes on serving' })),
  trust: Type.Optional(SkillTrust)
}, { title: 'QuarantinedSkill', description: 'A skill, or a tool of one, that could not be loaded' })

/** A warning about a skill that works nevertheless. */
export type SkillWarning = Static<typeof SkillWarning>
export const SkillWarning = Type.Object({
  name: Type.String({ description: 'Name of the skill' }),
  path: Type.String({ description: 'The file or folder it is about' }),
  warning: Type.String({ description: 'What is odd about it' }),
  trust: Type.Optional(SkillTrust)
}, { title: 'SkillWarning', description: 'Something odd about a skill that serves all the same' })
