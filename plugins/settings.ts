import { sectionsOf, type Section } from '../kernel/index.ts'
import { declared as container } from './executor-container/settings.ts'
import { declared as api } from './executor-http/settings.ts'
import { declared as mcpServers } from './executor-mcp/settings.ts'
import { declared as native } from './executor-native/settings.ts'
import { declared as worker } from './executor-worker/settings.ts'
import { declared as http } from './http/settings.ts'
import { declared as mcp } from './mcp/settings.ts'
import { declared as search } from './search-hnsw/settings.ts'
import { declared as engine } from './skill-engine/settings.ts'
import { declared as skills } from './skills-directory/settings.ts'

const declarations = [http, worker, native, container, api, search, mcp, mcpServers, skills, engine]
/**
 * The sections of the built-in plugins. A command needs them all to read the configuration, and loads only the plugins
 * that it uses. In the order of the documentation.
 */
export const builtinSections: readonly Section[] = declarations.flatMap(sectionsOf)
