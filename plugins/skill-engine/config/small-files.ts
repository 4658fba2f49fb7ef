import { decodeJson, isObject, type JsonObject } from '../../../kernel/index.ts'
import { parseYaml, textOf } from '../text/skill-md.ts'
import { isToolName } from '../text/names.ts'
import type { EngineTool } from '../text/parameters.ts'

/** What a file says of a skill, where it says it. */
export interface About { name?: string, description?: string, version?: string }

/** Name, description and version of a table. */
export function aboutOf (table: JsonObject): About {
  const [name, description, version] = ['name', 'description', 'version'].map(key => textOf(table[key]))
  return {
    ...(name !== undefined && { name }), ...(description !== undefined && { description }),
    ...(version !== undefined && { version })
  }
}

/** Reads `skill.yaml`, of a skill in Python. @throws Error when it is not YAML */
export function parseSkillYaml (text: string): About & { tools: EngineTool[] } {
  const table = parseYaml(text, 'skill.yaml')
  const tools: unknown[] = Array.isArray(table['tools']) ? table['tools'] : []
  return {
    ...aboutOf(table),
    tools: tools.slice(0, 1_000).flatMap(item => {
      const name = isObject(item) ? item['name'] : undefined
      return isObject(item) && isToolName(name)
        ? [{ name, description: textOf(item['description']) ?? '', parameters: [] }]
        : []
    })
  }
}

/** Reads `package.json`; the name without its scope. @throws Error when it is no JSON object */
export function parsePackage (text: string): About & { main?: string } {
  const table: unknown = decodeJson(Buffer.from(text))
  if (!isObject(table)) throw new Error('package.json is not an object')
  const about = aboutOf(table)
  const main = textOf(table['main'])
  return {
    ...about,
    ...(about.name !== undefined && { name: about.name.replace(/^@[^/]*\//, '') }),
    ...(main !== undefined && { main })
  }
}
