import { defineSkill } from '../../kernel/skill.ts'
import { engineOf } from './engine.ts'
import { statistics } from './statistics.ts'

/** The longest integer whose base is converted, in digits. */
const digitsMax = 10_000

export default defineSkill({
  tools: {
    evaluate: {
      description: 'Calculate a mathematical expression: arithmetic, percent, powers, roots, logarithms, trigonometry, complex numbers, matrices, units, combinatorics (how many ways); with variables',
      annotations: { read_only: true },
      parameters: {
        expression: {
          type: 'string',
          description: 'The expression, such as 2 * sqrt(x) + 5 cm to inch; several lines give the last one\'s value',
          required: true,
          minLength: 1,
          maxLength: 10_000
        },
        variables: {
          type: 'object',
          description: 'Values of variables: numbers, texts such as "5 cm", or lists of numbers',
          default: {},
          maxProperties: 100,
          additionalProperties: { anyOf: [
            { type: 'number' },
            { type: 'string', maxLength: 1000 },
            { type: 'array', items: { type: 'number' }, maxItems: 10_000 }
          ] }
        },
        numbers: {
          type: 'string',
          description: 'How numbers are kept: number (15 digits, fast), BigNumber (64 digits), or Fraction (exact)',
          enum: ['number', 'BigNumber', 'Fraction'],
          default: 'number'
        }
      },
      timeout_ms: 10_000,
      async run ({ expression, variables, numbers }) {
        const engine = await engineOf(numbers)
        const scope = new Map<string, unknown>()
        for (const [name, value] of Object.entries(variables)) {
          if (!/^[A-Za-z]\w{0,63}$/.test(name)) throw new Error(`"${name}" can't be the name of a variable`)
          scope.set(name, engine.evaluate(typeof value === 'string' ? value : JSON.stringify(value), new Map()))
        }
        const value = lastOf(engine.evaluate(expression, scope))
        if (value === undefined) throw new Error('the expression has no value')
        if (engine.typeOf(value) === 'function') throw new Error('the expression gives a function, not a value')
        return engine.show(value)
      }
    },

    statistics: {
      description: 'Compute statistics of a list of numbers: count, sum, mean (average), median, mode, min, max, variance, standard deviation and percentiles',
      annotations: { read_only: true },
      parameters: {
        numbers: {
          type: 'array', description: 'The numbers', required: true, items: { type: 'number' }, minItems: 1,
          maxItems: 100_000
        },
        percentiles: {
          type: 'array',
          description: 'Percentiles wanted, from 0 to 100',
          items: { type: 'number', minimum: 0, maximum: 100 },
          maxItems: 100,
          default: [25, 75, 90, 95, 99]
        }
      },
      run: ({ numbers, percentiles }) => statistics(numbers.map(Number), percentiles.map(Number))
    },

    convert_unit: {
      description: 'Convert a value from one unit of measurement to another: length (miles, km), mass, time, temperature (Celsius, Fahrenheit), speed, volume, energy, pressure, angle, data size (bytes, GiB) and compound units such as km/h',
      annotations: { read_only: true },
      parameters: {
        value: { type: 'number', description: 'The value', required: true },
        from: {
          type: 'string',
          description: 'Its unit, such as mile, kg, degF, km/h, GiB',
          required: true,
          pattern: '^[A-Za-z0-9 ^*/()-]{1,100}$'
        },
        to: { type: 'string', description: 'The unit wanted', required: true, pattern: '^[A-Za-z0-9 ^*/()-]{1,100}$' }
      },
      timeout_ms: 10_000,
      async run ({ value, from, to }) {
        const engine = await engineOf('number')
        return engine.show(engine.evaluate(`${value} ${from} to ${to}`, new Map()))
      }
    },

    convert_base: {
      description: 'Convert a number between bases 2 to 36, such as decimal, hexadecimal (hex), octal and binary; integers of any length',
      annotations: { read_only: true },
      parameters: {
        number: {
          type: 'string',
          description: 'The integer in its base, perhaps with a sign and 0x, 0o or 0b',
          required: true,
          maxLength: digitsMax,
          pattern: '^[+-]?[0-9A-Za-z]+$'
        },
        from: {
          type: 'integer',
          description: 'Base of the number; 16, 8 and 2 are known by 0x, 0o and 0b',
          default: 10,
          minimum: 2,
          maximum: 36
        },
        to: { type: 'integer', description: 'Base wanted', required: true, minimum: 2, maximum: 36 }
      },
      timeout_ms: 10_000,
      run ({ number, from, to }) {
        const [, sign = '', prefix, digits = ''] = /^([+-]?)(0[xob])?(.+)$/i.exec(number) ?? []
        const known = prefix !== undefined && (from === 10 || from === byPrefix[prefix.toLowerCase()])
        const base = known ? byPrefix[prefix.toLowerCase()] ?? from : from
        let value = 0n
        for (const digit of known ? digits : (prefix ?? '') + digits) {
          const worth = Number.parseInt(digit, 36)
          if (worth >= base) throw new Error(`"${digit}" is no digit of base ${base}`)
          value = value * BigInt(base) + BigInt(worth)
        }
        return (sign === '-' ? -value : value).toString(to)
      }
    }
  }
})

const byPrefix: Record<string, number> = { '0x': 16, '0o': 8, '0b': 2 }

/** Several lines give a set of results. */
function lastOf (value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('isResultSet' in value) || !('entries' in value)) return value
  return Array.isArray(value.entries) ? value.entries.at(-1) : value
}
