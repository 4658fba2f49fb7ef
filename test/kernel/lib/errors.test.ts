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
  t.same(own.envelope(), { error: { code: 'TIMEOUT', message: 'too long', details: { timeout_ms: 5 } }, success: false })
  t.notOk(isErrorCode('constructor'))
})
