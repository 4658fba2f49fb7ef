import { Option, type Command } from 'commander'
import { coerceText, type JsonObject, type Operation } from '../../../kernel/index.ts'

interface Fold {
  /** Flags whose names differ from their fields. */
  names?: Readonly<Record<string, string>>
  /** Fields that have no flag, since the command sets them in another way. */
  without?: readonly string[]
}

/**
 * Adds an option for each field of an operation's input; the option of a list may be repeated.
 * @returns a function that makes the input from the command's options
 */
export function addInputOptions (
  command: Command,
  { input }: Operation,
  { names = {}, without = [] }: Fold = {}
): () => JsonObject {
  const fields = Object.entries(input.properties)
    .filter(([field]) => !without.includes(field))
    .map(([field, schema]) => {
      const { type, format, description = '', default: preset, enum: values }: Record<
        'type' | 'format' | 'description' | 'default' | 'enum',
        unknown
      > = { type: '', format: '', description: '', default: undefined, enum: undefined, ...schema }
      const choices = Array.isArray(values) ? values.map(String) : undefined
      const about = String(description)
      const option = new Option(
        `--${(names[field] ?? field).replaceAll('_', '-')} <${choices !== undefined ? 'value' : type === 'integer' || type === 'number' ? 'number' : format === 'date-time' ? 'time' : field === 'skill_name' || field === 'skills' ? 'skill' : 'text'}>`,
        `${about.charAt(0).toLowerCase()}${about.slice(1)}${preset === undefined ? '' : ` (default: ${JSON.stringify(preset)})`}`
      )
      if (choices !== undefined) option.choices(choices)
      if (
        type === 'array'
      ) option.argParser((value, before: unknown) => [...Array.isArray(before) ? before : [], value])
      command.addOption(option)
      return { field, schema, name: option.attributeName() }
    })
  return () => Object.fromEntries(fields.flatMap(({ field, schema, name }) => {
    const value: unknown = command.getOptionValue(name)
    return value === undefined ? [] : [[field, Array.isArray(value) ? value : coerceText(schema, String(value))]]
  }))
}
