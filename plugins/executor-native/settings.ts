import { Type } from 'typebox'
import { defineSection, schemas } from '../../kernel/index.ts'

/** The settings for native tools in the section `execution`. */
export const executionSection = defineSection('execution', 'Running tools', {
  processes: Type.Integer({
    default: 0, minimum: 0, maximum: 1024, description: 'Native tools that run at once; 0: four per core'
  })
})

/** The options in `[plugin.executor-native]`. */
const options = Type.Object({
  helpers: Type.Integer({
    default: 0, minimum: 0, maximum: 16,
    description: 'Helper processes that start the commands, each started when it is needed; 0: one per core, eight at most'
  }),
  helper: schemas.Choice(['auto', 'node'], {
    default: 'auto', description: '"auto": the helper in C, where the build could compile it, else the one in Node'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'executor-native', sections: [executionSection], options }
