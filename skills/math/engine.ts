import type { MathJsInstance } from 'mathjs'

export type Numbers = 'number' | 'BigNumber' | 'Fraction'

/** What changes the library for those that come after, or evaluates a text by itself. */
const disabled = [
  'import', 'createUnit', 'evaluate', 'parse', 'compile', 'parser', 'simplify', 'simplifyCore', 'simplifyConstant',
  'derivative', 'rationalize', 'resolve', 'symbolicEqual', 'leafCount', 'config', 'chain', 'help', 'reviver',
  'replacer', 'print', 'format'
]

export interface Engine {
  evaluate (expression: string, scope: Map<string, unknown>): unknown
  show (value: unknown): string
  typeOf (value: unknown): string
}

const engines = new Map<Numbers, Promise<Engine>>()

/** A calculator; made when it is first needed, since the library takes a second to load. */
export async function engineOf (numbers: Numbers): Promise<Engine> {
  const made = engines.get(numbers) ?? make(numbers)
  engines.set(numbers, made)
  return await made
}

async function make (numbers: Numbers): Promise<Engine> {
  const { create, all } = await import('mathjs')
  const math: MathJsInstance =
    create(all ?? {}, { number: numbers, precision: 64, ...(numbers === 'Fraction' && { matrix: 'Matrix' }) })
  const { evaluate, format, typeOf } = math
  const refuse = (name: string) => (): never => { throw new Error(`the function ${name} is not available`) }
  math.import(Object.fromEntries(disabled.map(name => [name, refuse(name)])), { override: true })
  const precision = numbers === 'number' ? 15 : 64
  return {
    evaluate: (expression, scope) => evaluate(expression, scope) as unknown,
    show: value =>
      format(value, numbers === 'Fraction'
        ? { fraction: 'ratio' }
        : { precision, lowerExp: -9, upperExp: numbers === 'number' ? 21 : 64 }),
    typeOf: value => typeOf(value)
  }
}
