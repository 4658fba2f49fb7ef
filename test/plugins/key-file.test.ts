import * as fc from 'fast-check'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'smol-toml'
import { changeFile, hashKey, parseKeys } from '../../kernel/index.ts'
import { addKey, removeKey } from '../../plugins/cli/files/key-file.ts'

const settings = {
  hash: hashKey('x'), scopes: ['read' as const], skills: ['git:log', 'data-*'], rate_limit_per_minute: 5,
  created_at: '2026-01-02T03:04:05.678Z'
}
const folder = (): string => mkdtempSync(join(tmpdir(), 'skillet-keys-'))

t.test('adding and revoking keys leaves the rest of the file as it is', async t => {
  const before = '# mine\nlog_level = "warn" # why\n[server]\nport = 1\n[skills.config.git]\nx = [\n  1,\n  2\n]\n# the end\n'
  const one = addKey(before, 'one', settings)
  t.ok(one.startsWith(before))
  t.same(parseKeys(one)['one'], settings)
  const two = addKey(one, 'two', settings)
  t.same(Object.keys(parseKeys(removeKey(two, 'one'))), ['two'])
  t.equal(removeKey(removeKey(two, 'one'), 'two').trimEnd(), before.trimEnd())
  t.throws(() => addKey(one, 'one', settings), /already/)
  t.throws(() => removeKey(before, 'one'), /there is no key/)
})

t.test('in whatever order, only the key that is meant changes', async t => {
  const step = fc.record({ name: fc.constantFrom('a', 'b', 'a-b', 'A', 'constructor'), revoke: fc.boolean() })
  const files = [
    '',
    '# only a comment',
    '[server]\nport = 3\n\n[server.keys.old]\nhash = "'
    + hashKey('o')
    + '" # kept\n\n# about the rest\n[execution]\ndrain_ms = 1\n',
    '[ server . keys . "b" ]\nhash = "' + hashKey('b') + '"\nskills = ["git",\n "text"]\n'
  ]
  fc.assert(fc.property(fc.constantFrom(...files), fc.array(step, { maxLength: 12 }), (file, steps) => {
    let text = file
    for (const { name, revoke } of steps) {
      const before = parseKeys(text)
      if (Object.hasOwn(before, name) !== revoke) continue
      text = revoke ? removeKey(text, name) : addKey(text, name, settings)
      const after = parseKeys(text)
      const others = (keys: object): string =>
        JSON.stringify(Object.entries(keys).filter(([key]) => key !== name).toSorted(([a], [b]) => a < b ? -1 : 1))
      if (Object.hasOwn(after, name) === revoke || others(before) !== others(after)) {
        throw new Error(`${revoke ? 'revoking' : 'adding'} ${name} made of it:\n${text}`)
      }
      for (const comment of file.match(/# (?!kept).*/g) ?? []) {
        if (!text.includes(comment)) throw new Error(`"${comment}" is gone`)
      }
      if (JSON.stringify(parse(text)['execution']) !== JSON.stringify(parse(file)['execution'])) {
        throw new Error('another section changed')
      }
    }
  }), { numRuns: 300, seed: 42 })
  t.throws(
    () => removeKey(`[server]\nkeys = { a = { hash = "${hashKey('x')}" } }\n`, 'a'), /by hand/, 'not a table of its own'
  )
  t.throws(() => addKey('server = { port = 1 }\n', 'a', settings), 'a closed table')
})

t.test('the file is replaced whole, keeps its mode, and changes at once take turns', async t => {
  const file = join(folder(), 'new', 'skillet.toml')
  await changeFile(file, text => addKey(text, 'one', settings))
  t.equal(statSync(file).mode & 0o777, 0o600, 'a new file is its owner\'s')
  chmodSync(file, 0o640)
  const link = join(folder(), 'skillet.toml')
  symlinkSync(file, link)
  await Promise.all(Array.from({ length: 8 }, (_, i) => changeFile(link, text => addKey(text, `k${i}`, settings))))
  t.equal(Object.keys(parseKeys(readFileSync(file, 'utf8'))).length, 9, 'none is lost')
  t.equal(statSync(file).mode & 0o777, 0o640)
  const before = readFileSync(file, 'utf8')
  await t.rejects(changeFile(file, () => { throw new Error('no') }))
  t.equal(readFileSync(file, 'utf8'), before)
  t.same(readdirSync(join(file, '..')), ['skillet.toml'], 'nothing is left behind')
  writeFileSync(file, 'not = [toml')
  await t.rejects(changeFile(file, text => addKey(text, 'x', settings)), 'a broken file is left alone')
  t.equal(readFileSync(file, 'utf8'), 'not = [toml')
})
