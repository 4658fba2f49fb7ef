import t from 'tap'
import { configSchema, sectionsOf, type AnyPlugin } from '../../kernel/index.ts'
import container from '../../plugins/executor-container/index.ts'
import api from '../../plugins/executor-http/index.ts'
import mcpServers from '../../plugins/executor-mcp/index.ts'
import native from '../../plugins/executor-native/index.ts'
import worker from '../../plugins/executor-worker/index.ts'
import http from '../../plugins/http/index.ts'
import mcp from '../../plugins/mcp/index.ts'
import stdio from '../../plugins/mcp/transports/stdio.ts'
import search from '../../plugins/search-hnsw/index.ts'
import { builtinSections } from '../../plugins/settings.ts'
import engineExecutor from '../../plugins/skill-engine/executor/index.ts'
import engine from '../../plugins/skill-engine/index.ts'
import skills from '../../plugins/skills-directory/index.ts'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import memory from '../../plugins/storage-memory/index.ts'

t.test('the program knows all sections of its plugins, and no others', async t => {
  const plugins: AnyPlugin[] = [
    api, native, container, worker, mcpServers, http, mcp, stdio, search, skills, engine,
    engineExecutor, lmdb, memory
  ]
  const declared = plugins.flatMap(sectionsOf)
  const named = ({ name, schema }: typeof declared[number]): string =>
    `${name}: ${Object.keys(schema.properties).join()}`
  t.same([...new Set(builtinSections.map(named))].toSorted(), [...new Set(declared.map(named))].toSorted())
  for (const section of declared) t.ok(builtinSections.some(({ schema }) => schema === section.schema), section.name)
})

t.test('a setting that two plugins declare, and a section in the place of a setting, are refused by name', async t => {
  const [section] = sectionsOf(http)
  if (section === undefined) throw new Error('the HTTP server has settings')
  t.throws(
    () => configSchema([section, structuredClone({ name: section.name, schema: section.schema })]),
    { message: 'two plugins declare the setting "server.host"' }
  )
  t.throws(
    () => configSchema([{ name: 'data_dir', schema: section.schema }]),
    { message: /"data_dir", but data_dir is a setting/ }
  )
  t.equal(configSchema([section, section]).settings.length, configSchema([section]).settings.length)
})
