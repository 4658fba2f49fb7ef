import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../kernel/index.ts'
import type { ToolContext } from '../../kernel/skill.ts'
import { loadBundled, toolOf } from '../support/load-skills.ts'
import { runScript } from '../support/run-script.ts'

const skill = await loadBundled('hash')
const run = (tool: string, parameters: JsonObject, context: Partial<ToolContext> = {}): Promise<unknown> =>
  runScript(skill, tool, parameters, context)
const abc = {
  md5: '900150983cd24fb0d6963f7d28e17f72',
  sha1: 'a9993e364706816aba3e25717850c26c9cd0d89d',
  sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
}

t.test('text: known digests', async t => {
  for (const [algorithm, digest] of Object.entries(abc)) {
    t.equal(await run('text', { text: 'abc', algorithm }), digest, algorithm)
  }
  t.equal(await run('text', { text: 'abc' }), abc.sha256, 'SHA-256 unless another is asked for')
  t.equal(await run('text', { text: 'abc', encoding: 'base64' }), 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=')
  t.match(await run('text', { text: 'abc', algorithm: 'blake2b512' }), /^ba80a53f981c4d0d/)
  t.match(await run('text', { text: 'abc', algorithm: 'sha3-256' }), /^3a985da74fe225b2/)
  t.match(await run('text', { text: 'abc', algorithm: 'sha512' }), /^ddaf35a193617aba/)
  await t.rejects(run('text', { text: 'abc', algorithm: 'crc32' }), {
    message: /parameters\/algorithm must be one of "md5"/
  })
})

t.test('file: streamed, with progress, and stopped when cancelled', async t => {
  const content = 'x'.repeat(40 * 1_048_576)
  const folder = t.testdir({ small: 'abc', empty: '', large: content })
  t.equal(await run('file', { path: join(folder, 'small') }), abc.sha256)
  t.match(await run('file', { path: join(folder, 'empty') }), /^e3b0c442/)
  const told: number[] = []
  t.equal(
    await run('file', { path: join(folder, 'large') }, { progress (done) { told.push(done) } }),
    createHash('sha256').update(content).digest('hex')
  )
  t.same(told, [16, 32].map(mebibytes => mebibytes * 1_048_576))
  const cancelled = new AbortController()
  await t.rejects(
    run(
      'file',
      { path: join(folder, 'large') },
      { signal: cancelled.signal, progress () { cancelled.abort(new Error('cancelled')) } }
    ),
    { message: 'cancelled' }
  )
  await t.rejects(run('file', { path: folder }), { message: /is not a regular file/ })
  await t.rejects(run('file', { path: join(folder, 'nowhere') }), { message: /nowhere does not exist/ })
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await t.rejects(run('file', { path: join(folder, 'pipe') }), { message: /is not a regular file/ })
})

t.test('verify', async t => {
  const folder = t.testdir({ file: 'abc' })
  t.same(await run('verify', { text: 'abc', expected: abc.md5 }), { valid: true, algorithm: 'md5' })
  t.same(await run('verify', { path: join(folder, 'file'), expected: ` ${abc.sha256.toUpperCase()}\n` }), {
    valid: true,
    algorithm: 'sha256'
  })
  t.same(await run('verify', { text: 'abc', expected: 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=' }), {
    valid: true,
    algorithm: 'sha256'
  })
  await t.rejects(run('verify', { text: 'abd', expected: abc.sha1 }), {
    message: /the sha1 digest is [0-9a-f]{40}, not the expected one/
  })
  await t.rejects(run('verify', { text: 'abc', expected: abc.sha1, algorithm: 'sha256' }), {
    message: 'a digest by sha256 has 32 bytes; the expected one has 20'
  })
  await t.rejects(run('verify', { text: 'abc', expected: 'not a digest at all' }), {
    message: /neither hex nor base64/
  })
  await t.rejects(run('verify', { text: 'abc', expected: 'ab'.repeat(15) }), { message: /of no known hash function/ })
  await t.rejects(run('verify', { expected: abc.md5 }), { message: 'give either `text` or `path`' })
})

t.test('hmac: known values, and a key that is secret', async t => {
  t.equal(
    await run('hmac', { text: 'what do ya want for nothing?', key: 'Jefe' }),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'
  )
  t.equal(
    await run('hmac', { text: 'Hi There', key: '0b'.repeat(20), key_encoding: 'hex', algorithm: 'md5' }),
    createHmacMd5()
  )
  t.same(toolOf(skill, 'hmac').secrets, ['key'])
  await t.rejects(run('hmac', { text: 'x', key: '' }), {
    message: /parameters\/key must NOT have fewer than 1 characters/
  })
})

/**
 * RFC 2202 gives it for a key of 16 bytes; openssl is not at hand everywhere, so it is worked out by the definition.
 */
function createHmacMd5 (): string {
  const md5 = (...parts: Buffer[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest()
  const key = Buffer.concat([Buffer.alloc(20, 0x0b), Buffer.alloc(44)])
  const pad = (byte: number): Buffer => Buffer.from(key.map(value => value ^ byte))
  return md5(pad(0x5c), md5(pad(0x36), Buffer.from('Hi There'))).toString('hex')
}

t.test('uuid and random', async t => {
  t.match(await run('uuid', {}), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const sevens = String(await run('uuid', { version: 7, count: 1000 })).split('\n')
  t.equal(new Set(sevens).size, 1000)
  t.ok(sevens.every(id => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)))
  t.same(sevens, sevens.toSorted())
  t.equal(Buffer.from(String(await run('random', { bytes: 100, encoding: 'base64url' })), 'base64url').length, 100)
  t.not(await run('random', {}), await run('random', {}))
  await t.rejects(run('random', { bytes: 0 }), { message: 'parameters/bytes must be >= 1' })
  await t.rejects(run('uuid', { version: 5 }), { message: 'parameters/version must be one of 4, 7' })
})
