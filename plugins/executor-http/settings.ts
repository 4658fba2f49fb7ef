import { Type } from 'typebox'

/** The options in `[plugin.executor-http]`. */
const options = Type.Object({
  requests: Type.Integer({
    default: 64, minimum: 1, maximum: 1024, description: 'Calls of web APIs that run at once; others wait'
  }),
  body_bytes_max: Type.Integer({
    default: 8_388_608, minimum: 1024, maximum: 67_108_864,
    description: 'How much of an answer is read, in bytes, after decompression'
  })
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'executor-http', options }
