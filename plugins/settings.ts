import { sectionsOf, type Section } from '../kernel/index.ts'
import { declared as mcpServers } from './executor-mcp/settings.ts'
import { declared as native } from './executor-native/settings.ts'
import { declared as worker } from './executor-worker/settings.ts'
import { declared as http } from './http/settings.ts'
import { declared as mcp } from './mcp/settings.ts'
import { declared as search } from './search-hnsw/settings.ts'
import { declared as skills } from './skills-directory/settings.ts'

/**
 * The sections of the built-in plugins. A command needs them all to read the configuration, and loads only the plugins
 * that it uses. In the order of the documentation.
 */
export const builtinSections: readonly Section[] = [
  http, worker, native, search, mcp, mcpServers, skills
].flatMap(sectionsOf)
