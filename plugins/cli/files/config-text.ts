import { isObject, type ConfigSchema, type Setting } from '../../../kernel/index.ts'

/** The width in characters to which the descriptions of the file and of its sections are wrapped. */
const columns = 100

/** Every setting as a Markdown table, for docs/configuration.md. */
export function settingsTable ({ settings }: ConfigSchema): string {
  const rows = settings.map(({ path, schema }) =>
    `| \`${path.join('.')}\` | \`${JSON.stringify(schema.default)}\` | ${String(schema.description)} |`)
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/**
 * A `skillet.toml` with every setting, each described and commented out, with its default value. Tables with free keys,
 * such as those of skills, are shown by an example.
 * @param file the URL or path at which editors find the JSON Schema of the file
 */
export function configText ({ schema, settings }: ConfigSchema, file: string): string {
  const lines = [`#:schema ${file}`, '', ...comment('Settings of Skillet. What is commented out is at its default. A flag (--server-port) is stronger than a variable (SKILLET_SERVER_PORT), a variable than .env beside this file, and that than this file.'), '']
  const sectionOf = ({ path }: Setting): string => path.slice(0, -1).join('.')
  for (const setting of settings.filter(setting => sectionOf(setting) === '')) lines.push(...entry(setting))
  for (const section of new Set(settings.map(sectionOf).filter(name => name !== ''))) {
    lines.push('', ...comment(descriptionOf(section, schema)), `[${section}]`)
    for (const setting of settings) if (sectionOf(setting) === section) lines.push(...entry(setting))
  }
  return [...lines, '', ...examples, ''].join('\n')
}

const examples = [
  '# A skill\'s own settings, given to it as context.config:',
  '# [skills.config.files]',
  '# roots = ["~/projects"]',
  '#',
  '# [skills.config.http]',
  '# allow = ["127.0.0.1:8080"]',
  '#',
  '# A configuration of a skill, beside others: skillet run forge@work:…',
  '# [skills.instances.forge.work.config]',
  '# org = "acme"',
  '#',
  '# Options of further plugins, each by its name:',
  '# [plugin.NAME]',
  '#',
  '# API keys are made by `skillet key create NAME`, which writes [server.keys.NAME] here.'
]

function entry ({ path, schema }: Setting): string[] {
  const description = typeof schema.description === 'string' ? comment(schema.description) : []
  const value = schema.default === undefined ? '…  # has no default value' : JSON.stringify(schema.default)
  return [...description, `# ${path.at(-1)} = ${value}`]
}

function descriptionOf (section: string, schema: ConfigSchema['schema']): string {
  const node = section.split('.').reduce(
    (inner: unknown, name) => isObject(inner) && isObject(inner['properties']) ? inner['properties'][name] : undefined,
    schema
  )
  if (isObject(node) && typeof node['description'] === 'string') return node['description']
  return section.startsWith('plugin.') ? `Options of the plugin ${section.slice('plugin.'.length)}` : section
}

function comment (text: string): string[] {
  const lines: string[] = []
  let line = '#'
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > columns) {
      lines.push(line)
      line = '#'
    }
    line += ` ${word}`
  }
  return [...lines, line]
}
