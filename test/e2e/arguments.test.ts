import * as fc from 'fast-check'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { execute, makeHome, startServer } from '../support/program.ts'

/**
 * What the system has as the arguments of a process, each with a NUL behind it. The last statement keeps the shell from
 * becoming `cat`.
 */
const report = ['sh', '-c', 'cat /proc/$$/cmdline; :']
const shape = [
  ...report, 'sh', '{{a}}', '{{a}}{{b}}', '--{{number}}', 'x{{a}}', '--a={{b}}', '{{...list}}',
  ['{{maybe}}', '{{maybe}}{{a}}'], '{{initial}}', '--', '{{a}}', '{{...list}}'
]

function tool (name: string, more: string): string {
  const parameter = (name: string, type: string, rest: string): string =>
    `[[tools.parameters]]\nname = "${name}"\ntype = "${type}"\ndescription = "${name}"\n${rest}\n${more}\n`
  return `[[tools]]\nname = "${name}"\ndescription = "Report"\ncommand = ${JSON.stringify(shape)}\n` + [
    parameter('a', 'string', 'required = true'), parameter('b', 'string', 'required = true'),
    parameter('number', 'integer', 'required = true'),
    parameter('list', 'array', 'items = { type = "string" }'), parameter('maybe', 'number', ''),
    parameter('initial', 'string', 'default = "initial"')
  ].join('')
}

interface Values { a: string, b: string, number: number, list?: string[], maybe?: number, initial?: string }

/** The arguments as the manifest says them; the kernel's own code has no part in it. */
function model (
  { a, b, number, list = [], maybe, initial = 'initial' }: Values
): { free: string[], behind: string[], options: string[] } {
  return {
    free:
      [a, a + b, ...list, ...(maybe === undefined ? [] : [JSON.stringify(maybe), JSON.stringify(maybe) + a]), initial],
    options: [`--${number}`, `x${a}`, `--a=${b}`],
    behind: [a, ...list]
  }
}

function expected (values: Values): string[] {
  const { free, behind, options } = model(values)
  return [free[0] ?? '', free[1] ?? '', ...options, ...free.slice(2), '--', ...behind]
}

const nasty = [
  '', ' ', '-', '--', '-rf', '--output=x', '$(touch pwned)', '`touch pwned`', '; touch pwned', '| cat', '&& true', '\'',
  '"', '\'"\'', '\\', '\\\\"', '\n', 'a\nb', '\r\n', '\t', '*', '~', '$HOME', '${IFS}',
  '%s%n', '{{a}}', '{{...list}}', '{{?x}}', '\u2212', '\u202e', '\ufeff', '👋🏽', 'e\u0301', '\u0000', 'x\u0000y',
  '\ud800', 'x\udc00', '\u0001', '\u007f', '#', '!', '@file', '+x', '-\n', '\n-'
]
const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 2, arbitrary: fc.constantFrom(...nasty) },
  fc.tuple(fc.constantFrom(...nasty), fc.string({ unit: 'grapheme' })).map(parts => parts.join(''))
)
const values = fc.record({
  a: text, b: text, number: fc.integer({ min: -3, max: 100 }), list: fc.array(text, { maxLength: 4 }),
  maybe: fc.oneof(fc.integer({ min: -3 }), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 })), initial: text
}, { requiredKeys: ['a', 'b', 'number'] })

t.test('strings come through the server into a command byte for byte, one argument each, and none becomes an option', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  await mkdir(join(home.skills, 'report'), { recursive: true })
  await writeFile(
    join(home.skills, 'report', 'skill.toml'),
    `description = "Reports its arguments"\n${tool('plain', '')}${tool('dashed', 'allow_dash = true')}`
  )
  const server = await startServer(home)
  t.teardown(server.kill)
  const seen = { strings: 0, answered: 0, refused: 0 }

  await fc.assert(fc.asyncProperty(values, fc.constantFrom('plain', 'dashed'), async (values, tool_name) => {
    const { status, body } = await execute(server.url, 'report', tool_name, values)
    const args = expected(values)
    const { free } = model(values)
    const impossible = args.some(argument => argument.includes('\0'))
      || [values.a, values.b, values.initial ?? '', ...(values.list ?? [])].some(text => !isWellFormed(text))
    const optional = tool_name === 'plain' && (free.some(argument => argument.startsWith('-')) || values.number < 0)
    seen.strings += 2 + (values.list?.length ?? 0) + (values.initial === undefined ? 0 : 1)
    if (impossible || optional) {
      seen.refused++
      if (status !== 400) throw new Error(`${tool_name} was answered with ${status}: ${JSON.stringify(body)}`)
      return
    }
    seen.answered++
    const reported = `${[...report, 'sh', ...args].join('\0')}\0`
    if (status !== 200 || body['output'] !== reported) {
      throw new Error(`${tool_name} was answered with ${status}: ${JSON.stringify(body)}, not ${JSON.stringify(reported)}`)
    }
  }), { numRuns: 400, endOnFailure: true })

  t.ok(seen.strings >= 1_000, `${seen.strings} strings`)
  t.ok(seen.answered >= 50 && seen.refused >= 50, `${seen.answered} answered, ${seen.refused} refused`)
})

function isWellFormed (text: string): boolean {
  return (text as string & { isWellFormed (): boolean }).isWellFormed()
}
