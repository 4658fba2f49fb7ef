import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { Head, Tail } from '../../plugins/executor-native/capture.ts'
import { HelperProcess, type HelperAnswer } from '../../plugins/executor-native/helper-process.ts'
import { LiveText } from '../../plugins/executor-native/live-text.ts'
import { outcomeOf, refusalOf, textOf } from '../../plugins/executor-native/outcome.ts'
import { createDecoder } from '../../plugins/executor-native/decoder.ts'
import {
  encode, excesses, readFromHelper, readToHelper, refusals, type FromHelper, type ToHelper
} from '../../plugins/executor-native/protocol.ts'
import { whyRefused } from '../../plugins/executor-native/refusal.ts'

const bytes = fc.uint8Array({ maxLength: 300 }).map(array => Buffer.from(array))
const chunks = fc.array(bytes, { maxLength: 12 })

/** Cuts bytes into chunks of these lengths, over and over. */
function cut (whole: Buffer, lengths: readonly number[]): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0, i = 0; at < whole.length; i++) {
    const length = lengths[i % lengths.length] ?? 1
    parts.push(whole.subarray(at, at + length))
    at += length
  }
  return parts
}

const text = fc.string({ unit: 'binary' }).filter(text => !text.includes('\0'))
const id = fc.nat({ max: 0xffff_ffff })
const toHelper: fc.Arbitrary<ToHelper> = fc.oneof(
  fc.record({ type: fc.constant('stop' as const), id }),
  fc.record({
    type: fc.constant('run' as const), id, program: text, args: fc.array(text), cwd: text,
    env: fc.dictionary(fc.string({ minLength: 1, unit: fc.constantFrom('A', 'b', '_', 'é') }), text)
      .map(env => ({ ...env })),
    stdin: fc.boolean(), live: fc.boolean(), output_bytes_max: fc.nat(), output_bytes_stop: fc.nat(), rules: fc.nat()
  })
)
const fromHelper: fc.Arbitrary<FromHelper> = fc.oneof(
  fc.record({ type: fc.constant('started' as const), id, pid: fc.integer({ min: 2, max: 2 ** 22 }) }),
  fc.record({ type: fc.constant('output' as const), id, stream: fc.constantFrom('stdout', 'stderr') }),
  fc.record({ type: fc.constant('refused' as const), id, why: fc.constantFrom(...refusals), system_code: text }),
  fc.record({
    type: fc.constant('ended' as const), id, exceeded: fc.constantFrom(...excesses), stdout_bytes: fc.maxSafeNat(),
    stderr: fc.string({ unit: 'binary' }), exit_code: fc.nat({ max: 255 }), signal: fc.constant(null)
  }),
  fc.record({
    type: fc.constant('ended' as const), id, exceeded: fc.constantFrom(...excesses), stdout_bytes: fc.nat(),
    stderr: text, exit_code: fc.constant(null),
    signal: fc.constantFrom('SIGKILL' as const, 'SIGTERM' as const, 'SIGABRT' as const)
  })
)

function arrive<M extends ToHelper | FromHelper> (t: Test, message: fc.Arbitrary<M>, read: (bytes: Buffer) => M): void {
  fc.assert(fc.property(
    fc.array(fc.tuple(message, bytes)),
    fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
    (sent, lengths) => {
      const received: [M, Buffer][] = []
      const decode = createDecoder(read, (message, payload) => { received.push([message, Buffer.from(payload)]) })
      for (const chunk of cut(Buffer.concat(sent.map(([message, payload]) => encode(message, payload))), lengths)) {
        decode(chunk)
      }
      t.same(received, sent)
    }
  ))
}

t.test('messages and payloads arrive whole and in order, however the pipe cuts them', async t => {
  arrive(t, toHelper, readToHelper)
  arrive(t, fromHelper, readFromHelper)
  t.throws(() => { createDecoder(readToHelper, () => {})(Buffer.alloc(8, 0xff)) }, /out of step/)
  t.throws(() => { createDecoder(readFromHelper, () => {})(
    encode({ type: 'refused', id: 1, why: 'missing', system_code: '' }).fill(9, 16, 20)
  ) }, /out of step/)
})

t.test('what is told of an output while it comes is the beginning of what is kept, whole characters and all that fits', async t => {
  const text = fc.string({ unit: 'binary', maxLength: 40 }).map(text => Buffer.from(text))
  fc.assert(fc.property(
    fc.array(fc.oneof(text, bytes)),
    fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
    fc.integer({ min: 1, max: 400 }),
    (parts, lengths, max) => {
      const whole = Buffer.concat(parts)
      const head = new Head(max)
      const live = new LiveText(max)
      let told = ''
      for (const chunk of cut(whole, lengths)) {
        const kept = head.add(chunk)
        told += live.add(chunk.subarray(0, kept))
      }
      const { output, output_truncated } = textOf(head.kept, whole.length, max)
      t.ok(output.startsWith(told))
      // At most an unfinished character is still to come.
      if (!output_truncated) t.ok(Buffer.byteLength(output.slice(told.length)) <= 9, JSON.stringify({ output, told }))
    }
  ), { numRuns: 300 })
})

t.test('the beginning and the end of a stream are kept, within their bounds', async t => {
  fc.assert(fc.property(chunks, fc.integer({ min: 1, max: 1000 }), (parts, max) => {
    const whole = Buffer.concat(parts)
    const head = new Head(max)
    const tail = new Tail(max)
    for (const part of parts) {
      head.add(part)
      tail.add(part)
    }
    t.ok(head.kept.equals(whole.subarray(0, max)))
    t.equal(head.bytes, whole.length)
    t.equal(tail.bytes, whole.length)
  }))
  fc.assert(fc.property(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
    fc.integer({ min: 4, max: 100 }),
    (text, lengths, max) => {
      const tail = new Tail(max)
      for (const part of cut(Buffer.from(text), lengths)) tail.add(part)
      t.ok(text.endsWith(tail.text), 'whole characters of the end')
      t.ok(
        Buffer.byteLength(tail.text) > Math.min(max, Buffer.byteLength(text)) - 4 || tail.text === text,
        'as many as fit'
      )
    }
  ))
})

t.test('text of what was kept never holds half a character, nor more bytes than are allowed', async t => {
  fc.assert(fc.property(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }),
    fc.integer({ min: 1, max: 50 }),
    (text, max) => {
      const whole = Buffer.from(text)
      const { output, output_truncated } = textOf(whole.subarray(0, max), whole.length, max)
      t.equal(output_truncated, whole.length > max)
      if (output_truncated) {
        const kept = output.slice(0, output.lastIndexOf('\n[output truncated: '))
        t.ok(text.startsWith(kept) && Buffer.byteLength(kept) > max - 4 && Buffer.byteLength(kept) <= max)
      } else t.equal(output, text)
    }
  ))
  const { output, output_truncated } = textOf(Buffer.alloc(10, 0xff), 10, 10)
  t.ok(
    output.startsWith('\ufffd'.repeat(3)) && !output.startsWith('\ufffd'.repeat(4)) && output_truncated,
    'replacements count, too'
  )
})

t.test('a system without room is told from a command that can\'t run', async t => {
  const why = async (code: string): Promise<string> =>
    await whyRefused(Object.assign(new Error(code), { code }), { program: 'x', cwd: '/', env: {} })
  t.equal(await why('EAGAIN'), 'resources')
  t.equal(await why('EMFILE'), 'resources')
  t.equal(await why('E2BIG'), 'too_long')
  t.equal(await why('ENOENT'), 'missing')
  t.equal(await why('EACCES'), 'not_executable')
})

t.test('a missing command is named with the packages that bring it', async t => {
  const subject = { name: 'a:b', program: 'sqlite3', cwd: '/', outputBytesMax: 1000 }
  const packages = { debian: 'sqlite3', homebrew: 'sqlite' }
  t.match(refusalOf(subject, 'missing', 'ENOENT'), {
    status: 'failed',
    error: {
      message: 'a:b could not be started: the command "sqlite3" was not found; install it with apt-get install sqlite3 (Debian, Ubuntu) or brew install sqlite (Homebrew)',
      details: { exit_code: 127, command: 'sqlite3', packages }
    }
  })
  t.match(refusalOf({ ...subject, program: 'constructor' }, 'missing', 'ENOENT'), {
    error: { message: 'a:b could not be started: the command "constructor" was not found' }
  })
  const ended = (exit_code: number, stderr: string): unknown => outcomeOf(
    subject, { type: 'ended', id: 1, exit_code, signal: null, stdout_bytes: 0, exceeded: null, stderr }, Buffer.alloc(0)
  )
  for (const stderr of [
    'sh: 1: sqlite3: not found\n', 'bash: line 1: sqlite3: command not found',
    'env: ‘sqlite3’: No such file or directory'
  ]) {
    t.match(
      ended(127, stderr),
      { error: { message: /; install it with apt-get install sqlite3 /, details: { packages } } },
      stderr
    )
  }
  t.notMatch(ended(1, 'sh: 1: sqlite3: not found'), { error: { message: /install/ } })
})

t.test('a helper that says what none may is ended, and its run with it', async t => {
  const started = encode({ type: 'started', id: 1, pid: 2 ** 22 })
  const ended = {
    type: 'ended' as const, id: 1, exit_code: 0, signal: null, stdout_bytes: 3, exceeded: null, stderr: ''
  }
  const number = (message: FromHelper, at: number, value: number): Buffer => {
    const bytes = encode(message)
    bytes.writeUInt32LE(value, 8 + at)
    return bytes
  }
  const bad: Record<string, Buffer[]> = {
    'no message': [Buffer.alloc(8)],
    'another type': [number(ended, 0, 5)],
    'a run that it does not have': [encode({ type: 'started', id: 2, pid: 5 })],
    'the server\'s own group': [number({ type: 'started', id: 1, pid: 2 }, 8, 0)],
    'every process': [number({ type: 'started', id: 1, pid: 2 }, 8, 0xffff_ffff)],
    'started twice': [started, started],
    'refused after it started': [started, encode({ type: 'refused', id: 1, why: 'missing', system_code: '' })],
    'ended before it started': [encode(ended)],
    'output that nobody listens to': [started, encode({ type: 'output', id: 1, stream: 'stdout' }, Buffer.alloc(1))],
    'more output than is kept': [started, encode({ ...ended, stdout_bytes: 100 }, Buffer.alloc(11))],
    'more output than there was': [started, encode(ended, Buffer.alloc(4))],
    'a status that none has': [started, number(ended, 8, 256)],
    'a signal that none is': [started, number(ended, 12, 65)],
    'more bytes than can be counted': [started, number(ended, 24, 0xffff_ffff)]
  }
  for (const [name, frames] of Object.entries(bad)) {
    // It says so when it is given a run, and lives on: nothing but the server ends it.
    const code = `const { Socket } = require('node:net'); const pipe = new Socket({ fd: 3 }); pipe.once('data', () => { pipe.write(Buffer.from('${Buffer.concat(frames).toString('base64')}', 'base64')) })`
    const helper = new HelperProcess({ file: process.execPath, args: ['-e', code], env: {} })
    const answers: HelperAnswer[] = []
    helper.run(
      {
        program: 'true', args: [], cwd: '/', env: {}, live: false, output_bytes_max: 10, output_bytes_stop: 100,
        rules: 0
      },
      undefined,
      answer => { answers.push(answer) }
    )
    t.match(await helper.gone, /out of step|outside buffer bounds/, name)
    t.match(answers.at(-1), { type: 'lost' }, name)
  }
})
