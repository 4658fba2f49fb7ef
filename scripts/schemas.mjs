// Writes dist/schemas/: JSON Schemas of skillet.toml and skill.toml for editors, from the schemas with which the
// program checks these files.
import { mkdirSync, writeFileSync } from 'node:fs'
import { configSchema } from '../dist/kernel/index.js'
import { ManifestFile } from '../dist/kernel/schema/manifest.js'
import { configTitle, fileSchema } from '../dist/plugins/cli/files/json-schema.js'
import { builtinSections } from '../dist/plugins/settings.js'

mkdirSync('dist/schemas', { recursive: true })
write('skillet', configTitle, configSchema(builtinSections).schema)
write('skill', 'Manifest of a skill (skill.toml)', ManifestFile)

function write (name, title, schema) {
  writeFileSync(`dist/schemas/${name}.schema.json`, `${JSON.stringify(fileSchema(title, schema), null, 2)}\n`)
}
