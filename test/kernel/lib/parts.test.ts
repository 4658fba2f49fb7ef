import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { Bus } from '../../../kernel/contracts/bus.ts'
import { coerceText } from '../../../kernel/lib/coerce.ts'
import { silentLogger } from '../../../kernel/lib/log.ts'
import { didYouMean } from '../../../kernel/lib/nearest.ts'
import { outputOf } from '../../../kernel/contracts/output.ts'
import { isAlive, thisProcess } from '../../../kernel/lib/process-identity.ts'
import { secondsSince } from '../../../kernel/lib/time.ts'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { until } from '../../../plugins/testing/until.ts'

t.test('a listener that throws is logged and harms nobody else', async t => {
  const logged: unknown[] = []
  const bus = new Bus({ ...silentLogger, error: fields => { logged.push(fields) } })
  const heard: string[] = []
  bus.on('log', () => { throw new Error('deaf') })
  const stop = bus.on('log', ({ text }) => { heard.push(text) })
  bus.emit('log', { execution_id: '1', level: 'info', text: 'a' })
  stop()
  bus.emit('log', { execution_id: '1', level: 'info', text: 'b' })
  t.same(heard, ['a'])
  t.same(logged, [{ topic: 'log', error: 'deaf' }, { topic: 'log', error: 'deaf' }])
})

t.test('text becomes a value of its schema, or stays for validation to refuse', async t => {
  const rows: [string, string, unknown][] = [
    ['integer', '5', 5], ['integer', '-1', -1], ['integer', '5.5', '5.5'], ['integer', '', ''],
    ['integer', '0x10', '0x10'], ['integer', '9'.repeat(20), '9'.repeat(20)],
    ['integer', String(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER],
    ['integer', '9007199254740992', '9007199254740992'],
    ['number', '1.5e3', 1500], ['number', '.5', 0.5], ['number', 'NaN', 'NaN'], ['number', 'Infinity', 'Infinity'],
    ['boolean', 'true', true], ['boolean', 'false', false], ['boolean', '1', '1'], ['string', '5', '5'],
    ['array', '[1]', [1]], ['array', 'a,b', 'a,b'], ['object', '{"a":1}', { a: 1 }], ['object', '{', '{']
  ]
  for (const [type, text, value] of rows) t.same(coerceText({ type }, text), value, `${type} ${text}`)
  t.equal(coerceText(undefined, 'x'), 'x')
})

t.test('the nearest name is offered only when it is near', async t => {
  t.equal(didYouMean('prot', ['port', 'host']), '; did you mean "port"?')
  t.equal(didYouMean('args', ['arguments', 'timeout']), '; did you mean "arguments"?', 'one that is shortened')
  t.equal(didYouMean('args', ['arguments', 'arrangements']), '', 'and not one of two')
  t.equal(didYouMean('unpack', ['office_unpack', 'office_pack']), '; did you mean "office_unpack"?', 'a word of one')
  t.equal(didYouMean('office', ['office_unpack', 'office_pack']), '', 'and not of two')
  t.equal(didYouMean('entirely-else', ['port', 'host']), '')
  t.equal(didYouMean('x', []), '')
})

t.test('output is cut at a character, within its bytes, and says so', async t => {
  fc.assert(fc.property(
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.integer({ min: 0, max: 100 }),
    (text, max) => {
      const { output, output_truncated } = outputOf(text, max)
      const kept = output_truncated ? output.slice(0, output.lastIndexOf('\n[output truncated')) : output
      if (output_truncated !== Buffer.byteLength(text) > max) throw new Error('cut without need, or not cut')
      if (!text.startsWith(kept) || Buffer.byteLength(kept) > Math.max(max, 0)) {
        throw new Error('not a beginning within the limit')
      }
      if (output_truncated && max - Buffer.byteLength(kept) > 3) throw new Error('cut more than a character')
    }
  ))
  t.match(outputOf('abcdef', 3), { output: 'abc\n[output truncated: 3 of 6 bytes kept]', output_truncated: true })
  t.match(outputOf('abc', 3, 10), { output: 'abc\n[output truncated: 3 of 10 bytes kept]' }, 'the rest was never kept')
})

t.test('a process is alive until it ends, and a later one of its number is not it', {
  skip: process.platform !== 'linux' && 'reads /proc'
}, async t => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const owner = { pid: child.pid ?? 0, started: `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}` }
  t.ok(isAlive(owner))
  t.notOk(isAlive({ ...owner, started: `${boot}:1` }))
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.notOk(isAlive(owner))
  t.ok(isAlive(thisProcess()))
})

t.test('seconds pass for who asks again and again, and for who asks late', async t => {
  const often = secondsSince(performance.now() - 41_500)
  const late = secondsSince(performance.now() - 41_500)
  t.strictSame([often(), often(), late()], [41, 41, 41])
  await until(() => often() === 42)
  t.equal(late(), 42)
})
