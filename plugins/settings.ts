import { sectionsOf, type Section } from '../kernel/index.ts'
import * as native from './executor-native/settings.ts'
import * as worker from './executor-worker/settings.ts'
import * as http from './http/settings.ts'
import { mcpSection } from './mcp/settings.ts'
import { searchSection } from './search-hnsw/settings.ts'
import * as directory from './skills-directory/settings.ts'

/**
 * The sections of the built-in plugins. A command needs them all to read the configuration, and loads only the plugins
 * that it uses. In the order of the documentation.
 */
export const builtinSections: readonly Section[] = [
  { name: 'http', sections: [http.serverSection], options: http.options },
  { name: 'executor-worker', sections: [worker.executionSection], options: worker.options },
  { name: 'executor-native', sections: [native.executionSection], options: native.options },
  { name: 'search-hnsw', sections: [searchSection] },
  { name: 'mcp', sections: [mcpSection] },
  { name: 'skills-directory', sections: [directory.skillsSection], options: directory.options }
].flatMap(sectionsOf)
