// Writes dist/schemas/: JSON Schemas of skillet.toml and skill.toml for editors, from the schemas that the program
// checks by.
import { mkdirSync, writeFileSync } from 'node:fs'
import { Config } from '../dist/kernel/contracts/config.js'
import { ManifestFile } from '../dist/kernel/schema/manifest.js'

const draft = 'https://json-schema.org/draft/2020-12/schema'
mkdirSync('dist/schemas', { recursive: true })
write('skillet', 'Configuration of Skillet (skillet.toml)', Config)
write('skill', 'Manifest of a skill (skill.toml)', ManifestFile)

function write (name, title, schema) {
  writeFileSync(
    `dist/schemas/${name}.schema.json`,
    `${JSON.stringify({ $schema: draft, title, ...optional(JSON.parse(JSON.stringify(schema))) }, null, 2)}\n`
  )
}

/** What has a default need not be written. */
function optional (schema) {
  if (Array.isArray(schema)) return schema.map(optional)
  if (typeof schema !== 'object' || schema === null) return schema
  const changed = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, key === 'default' || key === 'enum' ? value : optional(value)])
  )
  if (Array.isArray(changed.required) && typeof changed.properties === 'object') {
    changed.required = changed.required.filter(name => !('default' in changed.properties[name]))
    if (changed.required.length === 0) delete changed.required
  }
  return changed
}
