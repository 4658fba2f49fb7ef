import { readFileSync } from 'node:fs'
import t from 'tap'
import { ERRORS, isErrorCode, SkilletError } from '../../../kernel/lib/errors.ts'

t.test('every code stands in docs/errors.md, which names no other', async t => {
  const page = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8')
  const table = /<!-- errors -->([\s\S]*?)<!-- \/errors -->/.exec(page)?.[1] ?? ''
  const documented = [...table.matchAll(/`([A-Z_]{4,})`/g)].map(([, code = '']) => code)
  t.same(documented.toSorted(), Object.keys(ERRORS).toSorted())
})

t.test('a stranger becomes INTERNAL, and nothing of its inside is told', async t => {
  const error = SkilletError.from(new Error('connection to /var/secret refused'))
  t.match(error, { code: 'INTERNAL', kind: 'internal' })
  t.notMatch(JSON.stringify(error.envelope()), 'secret')
  t.match(error.cause, { message: /secret/ }, 'the log can have it')
  const own = new SkilletError('TIMEOUT', 'too long', { timeout_ms: 5 })
  t.equal(SkilletError.from(own), own)
  t.same(own.envelope(), {
    error: { code: 'TIMEOUT', message: 'too long', details: { timeout_ms: 5 } },
    success: false
  })
  t.notOk(isErrorCode('constructor'))
})

t.test('what another copy of Skillet throws is known, as npm may put one beside a plugin', async t => {
  const copy = await import(new URL('../../../kernel/lib/errors.js?copy', import.meta.url).href) as {
    SkilletError: typeof SkilletError
  }
  t.not(copy.SkilletError, SkilletError)
  const error = new copy.SkilletError('TIMEOUT', 'too long')
  t.ok(error instanceof SkilletError)
  t.equal(SkilletError.from(error), error)
  t.equal(copy.SkilletError.from(new SkilletError('TIMEOUT', 'too long')).code, 'TIMEOUT')
  for (const stranger of [new Error('x'), { code: 'TIMEOUT' }, undefined, null, 'x']) {
    t.notOk(stranger instanceof SkilletError)
  }
})

t.test('a class that extends it knows its own errors only', async t => {
  class Narrow extends SkilletError {}
  t.ok(new Narrow('TIMEOUT', 'too long') instanceof SkilletError)
  t.ok(new Narrow('TIMEOUT', 'too long') instanceof Narrow)
  t.notOk(new SkilletError('TIMEOUT', 'too long') instanceof Narrow)
})
