import * as fc from 'fast-check'
import t from 'tap'
import { outputOf } from '../../../kernel/contracts/output.ts'
import { createRedactor, secretLengthMin, secretMark, type Redactor } from '../../../kernel/secrets/redact.ts'

const secret = 'p4ss/word+"ä\\ key\t%20\'(x)'
const short = 'abc'

function redactor (...values: unknown[]): Redactor {
  const made = createRedactor(values)
  if (made === undefined) throw new Error('there is nothing to look for')
  return made
}

t.test('a secret is replaced in each of its spellings', async t => {
  const bytes = Buffer.from(secret)
  const basic = (user: string): string => Buffer.from(`${user}:${secret}`).toString('base64')
  const spelled = {
    plain: secret,
    json: JSON.stringify({ k: secret }),
    twice: JSON.stringify({ k: JSON.stringify({ k: secret }) }),
    ascii: JSON.stringify(secret).replaceAll('ä', '\\u00e4'),
    url: `?k=${encodeURIComponent(secret)}`,
    form: String(new URLSearchParams({ k: secret })),
    lower: encodeURIComponent(secret).replaceAll(/%../g, code => code.toLowerCase()),
    base64: bytes.toString('base64'),
    bare: bytes.toString('base64').replaceAll('=', ''),
    base64url: bytes.toString('base64url'),
    'basic 0': basic('ab'), 'basic 1': basic('abc'), 'basic 2': basic('a')
  }
  const it = redactor(secret)
  for (const [name, text] of Object.entries(spelled)) {
    const redacted = it.text(`before ${text} after`)
    t.match(redacted, new RegExp(`^before .*\\${secretMark}.* after$`, 's'), name)
    t.ok(redacted.length < 40 + secretMark.length, `${name}: nothing of it is left: ${redacted}`)
  }
})

t.test('whatever the text, no secret is left in it, and what is none stays', async () => {
  const letter = fc.constantFrom('a', 'b', 'ä', '"', '👋')
  const value = fc.string({ unit: letter, minLength: secretLengthMin, maxLength: 8 })
  const piece = fc.string({ unit: letter, maxLength: 12 })
  fc.assert(fc.property(
    fc.array(value, { minLength: 1, maxLength: 3 }),
    fc.array(piece, { maxLength: 6 }),
    fc.array(fc.nat(2), { maxLength: 6 }),
    (values, pieces, order) => {
      const text = pieces.map((piece, i) => piece + (values[order[i] ?? 9] ?? '')).join('')
      const redacted = redactor(...values).text(text)
      for (const value of values) if (redacted.includes(value)) throw new Error(`${value} is left in ${redacted}`)
      if (
        !values.some(value => text.includes(value) || text.includes(JSON.stringify(value).slice(1, -1)))
        && redacted !== text
      ) {
        throw new Error(`${text} became ${redacted}`)
      }
    }
  ), { numRuns: 2_000 })
})

t.test('what overlaps is taken out whole', async t => {
  t.equal(redactor('abcdef', 'defghi').text('<abcdefghi>'), `<${secretMark}>`)
  t.equal(redactor('aaaa').text('<aaaaaaa>'), `<${secretMark}>`)
  t.equal(redactor('token').text('tokentoken'), secretMark + secretMark)
})

t.test('a piece of a secret at a cut is taken out, wherever the cut falls', async t => {
  const it = redactor(secret)
  const text = `the output is ${secret} and more`
  for (let max = 14; max < Buffer.byteLength(text); max++) {
    const { output, output_truncated } = outputOf(text, max)
    const redacted = await it.output(output, output_truncated)
    const left = redacted.slice(14).replace(/\n\[output truncated: .*$/, '').replaceAll(secretMark, '')
    if (secret.startsWith(left) && left.length >= secretLengthMin) t.fail(`cut at ${max}, ${left} is left`)
    t.match(redacted, /\[output truncated: \d+ of \d+ bytes kept\]$/)
    const tail = it.data({ stderr: text.slice(max) })['stderr']
    if (
      typeof tail !== 'string'
      || (max < 14 + secret.length - secretLengthMin && tail.startsWith(secret.slice(max - 14)))
    ) {
      t.fail(`from ${max} on, ${String(tail)} is left`)
    }
    const quoted = it.text(`${text.slice(0, max)}…`)
    if (quoted.includes(secret.slice(0, secretLengthMin))) t.fail(`quoted up to ${max}, ${quoted} is left`)
  }
  t.equal(
    await it.output(`ends like ${secret.slice(0, 6)}`, false),
    `ends like ${secret.slice(0, 6)}`,
    'where nothing was cut, nothing is lost'
  )
  const piece = secret.slice(5)
  t.notMatch(
    it.failure(`tool exited with code 1: ${piece} failed`, { stderr: `${piece} failed`, exit_code: 1 }),
    { message: piece },
    'what a message quotes of the piece'
  )
})

t.test('of a secret of several lines, each line is one', async t => {
  const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n'
  const it = redactor(key)
  t.equal(it.text(key), secretMark)
  t.notMatch(it.text('the line MIIEvQIBADANBgkq is bad'), 'MIIEvQIBADANBgkq')
})

t.test('secrets within data are found, and data keeps its shape', async t => {
  const it = redactor({ token: 'inner-token', list: ['in-a-list', 5] }, 12_345, true)
  t.same(it.data({ a: ['x inner-token'], 'inner-token': { n: 1, b: null, text: 'in-a-list 12345 5 true' } }), {
    a: [`x ${secretMark}`], [secretMark]: { n: 1, b: null, text: `${secretMark} ${secretMark} 5 true` }
  })
})

t.test('too short a value is not looked for, and costs nothing', async t => {
  t.equal(createRedactor([short, true, null, undefined, 5, '']), undefined)
})

t.test('long secrets and long texts that agree almost everywhere take linear time', async t => {
  const value = `${'a'.repeat(400_000)}b`
  const text = 'a'.repeat(1_000_000)
  // The square of the length would be 4e11 steps.
  t.equal(redactor(value).text(text), text)
  t.notMatch(redactor(value).text(`${text}b`), 'b')
})
