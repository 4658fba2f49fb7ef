import { Config, settings } from '../../../kernel/index.ts'

/** The width in characters to which the descriptions of the file and of its sections are wrapped. */
const columns = 100

/** Every setting as a Markdown table, for docs/configuration.md. */
export function settingsTable (): string {
  const rows = settings.map(({ path, schema }) => `| \`${path.join('.')}\` | \`${JSON.stringify(schema.default)}\` | ${String(schema.description)} |`)
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/**
 * A `skillet.toml` with every setting, each described and commented out, with its default value. Tables with free keys,
 * such as those of skills, are shown by an example.
 * @param schema the URL or path at which editors find the JSON Schema of the file
 */
export function configText (schema: string): string {
  const lines = [`#:schema ${schema}`, '', ...comment('Settings of Skillet. What is commented out is at its default. A flag (--server-port) is stronger than a variable (SKILLET_SERVER_PORT), a variable than .env beside this file, and that than this file.'), '']
  const own = settings.filter(({ path }) => path.length === 1)
  const sections = [...new Set(settings.filter(({ path }) => path.length > 1).map(({ path: [section = ''] }) => section))]
  for (const setting of own) lines.push(...entry(setting))
  for (const section of sections) {
    lines.push('', ...comment(descriptionOf(section)), `[${section}]`)
    for (const setting of settings.filter(({ path }) => path[0] === section)) lines.push(...entry(setting))
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
  '# Options of further plugins, each by its name:',
  '# [plugin.NAME]',
  '#',
  '# API keys are made by `skillet key create NAME`, which writes [server.keys.NAME] here.'
]

function entry ({ path, schema }: typeof settings[number]): string[] {
  return [...comment(String(schema.description)), `# ${path.at(-1)} = ${JSON.stringify(schema.default)}`]
}

function descriptionOf (section: string): string {
  const found: unknown = Object.entries(Config.properties).find(([name]) => name === section)?.[1]
  return typeof found === 'object' && found !== null && 'description' in found ? String(found.description) : section
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
