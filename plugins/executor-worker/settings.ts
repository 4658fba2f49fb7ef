import { Type } from 'typebox'
import { defineSection } from '../../kernel/index.ts'

/** The part of the section `execution` that is about script tools. */
export const executionSection = defineSection('execution', 'Running tools', {
  threads: Type.Integer({
    default: 0, minimum: 0, maximum: 256, description: 'Script tools that compute at once; 0: one per core'
  })
})

/** The options in `[plugin.executor-worker]`. */
const options = Type.Object({
  load_ms: Type.Integer({
    default: 10_000, minimum: 1, maximum: 600_000,
    description: 'How long a skill\'s module may take to load, in milliseconds'
  }),
  idle_ms: Type.Integer({
    default: 10_000, minimum: 100, maximum: 3_600_000,
    description: 'An idle script thread is ended after so long, in milliseconds'
  }),
  processes: Type.Integer({
    default: 0, minimum: 0, maximum: 256,
    description: 'Processes of scripts that are confined, at most, each with the scripts of one skill; 0: four per core, 16 at least'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'executor-worker', sections: [executionSection], options }
