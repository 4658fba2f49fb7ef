import { defineSkill } from '../../kernel/skill.ts'
import { formats, isRecord, read, write } from './formats.ts'

/** The longest text, in characters. */
const textMax = 1_000_000
/** How many faults of a document are told. */
const faultsMax = 50

const text = { type: 'string', description: 'The data, as a text', required: true, maxLength: textMax } as const
const format = { type: 'string', description: 'Format of the text', enum: formats, default: 'json' } as const

export default defineSkill({
  tools: {
    convert: {
      description: 'Convert data between JSON, YAML, TOML, CSV and XML, or format (pretty-print) and minify it by converting to the same format',
      annotations: { read_only: true },
      parameters: {
        text,
        from: { type: 'string', description: 'Format of the text', required: true, enum: formats },
        to: { type: 'string', description: 'Format wanted', required: true, enum: formats },
        indent: {
          type: 'integer',
          description: 'Spaces of indentation; 0 puts JSON and XML on one line',
          default: 2,
          minimum: 0,
          maximum: 8
        },
        delimiter: {
          type: 'string',
          description: 'What separates the fields of CSV, such as ";" or a tab',
          default: ',',
          minLength: 1,
          maxLength: 1
        },
        header: { type: 'boolean', description: 'Whether the first line of CSV names the columns', default: true },
        infer_types: {
          type: 'boolean',
          description: 'Read numbers, true and false in CSV as such; otherwise all its values are strings',
          default: false
        }
      },
      run: async ({ text, from, to, indent, ...csv }) => await write(await read(text, from, csv), to, indent, csv)
    },

    query: {
      description: 'Get a value or some fields out of JSON, YAML, TOML, CSV or XML data: query, filter, reshape and extract with a JMESPath expression, such as people[?age > `30`].name',
      annotations: { read_only: true },
      parameters: {
        text,
        format,
        expression: {
          type: 'string', description: 'A JMESPath expression', required: true, minLength: 1, maxLength: 10_000
        }
      },
      timeout_ms: 10_000,
      async run ({ text, format, expression }) {
        const [{ search }, value] = await Promise.all([import('@jmespath-community/jmespath'), read(text, format)])
        type Value = Parameters<typeof search>[0]
        try {
          return JSON.stringify(search(value as Value, expression) ?? null, null, 2) // `read` gives JSON values alone
        } catch (error) {
          throw new Error(`the expression can't be used: ${error instanceof Error ? error.message : String(error)}`, {
            cause: error
          })
        }
      }
    },

    diff: {
      description: 'Compare two JSON, YAML, TOML, CSV or XML documents or settings by their values and give the differences as a JSON Patch (RFC 6902); an empty list when they are equal',
      annotations: { read_only: true },
      parameters: {
        before: { ...text, description: 'The old document' },
        after: { ...text, description: 'The new document' },
        before_format: { ...format, description: 'Format of `before`' },
        after_format: { ...format, description: 'Format of `after`' }
      },
      timeout_ms: 10_000,
      async run ({ before, after, before_format, after_format }) {
        const [{ createPatch }, from, to] =
          await Promise.all([import('rfc6902'), read(before, before_format), read(after, after_format)])
        return JSON.stringify(createPatch(from, to), null, 2)
      }
    },

    patch: {
      description: 'Change a document by a JSON Patch (RFC 6902): add, remove, replace, move, copy and test operations, all or none. The result is JSON',
      annotations: { read_only: true },
      parameters: {
        text,
        format,
        patch: {
          type: 'array',
          description: 'The operations, such as {"op": "replace", "path": "/a/0", "value": 1}',
          required: true,
          maxItems: 10_000,
          items: { type: 'object' }
        }
      },
      timeout_ms: 10_000,
      async run ({ text, format, patch }) {
        const { applyPatch } = await import('rfc6902')
        const document = { value: await read(text, format) }
        for (const [i, operation] of patch.entries()) {
          if (!isRecord(operation)) throw new Error(`operation ${i} is no object`)
          // Under a field, so that the whole document can be replaced too.
          const under = (name: 'path' | 'from'): object => {
            const path = operation[name]
            if (path === undefined && name === 'from') return {}
            if (typeof path !== 'string' || (path !== '' && !path.startsWith('/'))) {
              throw new Error(`operation ${i} needs a "${name}" that is empty or begins with "/"`)
            }
            // The library passes over these names in silence.
            if (/\/(?:__proto__|constructor|prototype)(?:\/|$)/.test(path)) {
              throw new Error(`operation ${i} can't have "__proto__", "constructor" or "prototype" in its "${name}"`)
            }
            return { [name]: `/value${path}` }
          }
          type Operation = Parameters<typeof applyPatch>[1][number]
          // Anything else is answered by an error.
          const whole = { ...operation, ...under('path'), ...under('from') } as object as Operation
          const [wrong] = applyPatch(document, [whole])
          if (wrong) {
            throw new Error(`operation ${i} (${String(operation['op'])} ${String(operation['path'])}) can't be applied: ${wrong.name}`)
          }
        }
        return JSON.stringify(document.value ?? null, null, 2)
      }
    },

    validate: {
      description: 'Check whether data is valid: validate JSON, YAML, TOML, CSV or XML against a JSON Schema (2020-12, 2019-09 or draft 7) and list every fault with its place',
      annotations: { read_only: true },
      parameters: {
        text,
        format,
        schema: {
          type: 'object',
          description: 'The JSON Schema; its `$schema` says which draft, 2020-12 where absent. References to other documents are not followed',
          required: true
        }
      },
      timeout_ms: 10_000,
      async run ({ text, format, schema }) {
        const [{ compile }, value] = await Promise.all([import('./schema.ts'), read(text, format)])
        const check = await compile(schema)
        const valid = check(value)
        const errors = check.errors ?? []
        return {
          valid,
          errors: errors.slice(0, faultsMax).map(({ instancePath, message, keyword, params }) =>
            ({ path: instancePath, message: message ?? keyword, keyword, params })),
          ...(errors.length > faultsMax && { more: errors.length - faultsMax })
        }
      }
    }
  }
})
