import { configSchema } from '../../kernel/index.ts'
import { builtinSections } from '../../plugins/settings.ts'

/** The configuration of the program without further plugins. */
export const builtinSchema = configSchema(builtinSections)
