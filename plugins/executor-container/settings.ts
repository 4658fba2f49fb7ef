import { Type } from 'typebox'
import { textList } from '../../kernel/index.ts'

/** The options in `[plugin.executor-container]`. */
const options = Type.Object({
  engine: Type.String({
    default: 'auto', minLength: 1,
    description: 'The container engine: "auto" for docker or podman, whichever is there and answers, or a program or its path'
  }),
  engine_options: textList('Options of the engine that stand before its command, such as `--runtime`'),
  run_options: textList('Further options of the engine\'s command `run`, such as `--ulimit`; they apply to all skills')
}, { additionalProperties: false })

/** The name of the plugin and its settings, which commands need without the plugin. */
export const declared = { name: 'executor-container', options }
