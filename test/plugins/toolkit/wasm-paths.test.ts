import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { Files, OpenFile, OpenFolder } from '../../../plugins/toolkit/wasm/host/files.ts'
import { resolvePath } from '../../../plugins/toolkit/wasm/host/resolve-path.ts'
import { WasiError } from '../../../plugins/toolkit/wasm/host/wasi-error.ts'

const home = realpathSync(mkdtempSync(join(tmpdir(), 'skillet-paths-')))
t.teardown(() => { rmSync(home, { recursive: true, force: true }) })
const base = join(home, 'base')
mkdirSync(join(base, 'a', 'b'), { recursive: true })
mkdirSync(join(home, 'secret'))
writeFileSync(join(home, 'secret', 'file'), 'secret')
writeFileSync(join(base, 'file'), 'inside')
writeFileSync(join(base, 'a', 'file'), 'inside')
for (const [path, target] of [
  ['up', '..'], ['a/up', '../..'], ['out', '../secret'], ['absolute', join(home, 'secret')], ['root', '/'],
  ['a/b/top', '../..'], ['chain', 'a/b/top/up'], ['circle', 'circle'], ['in', 'a/file'],
  ['a/b/secret', '../../../secret/file']
] as const) symlinkSync(target, join(base, path))

const part = fc.constantFrom(
  '', '.', '..', 'a', 'b', 'file', 'up', 'out', 'absolute', 'root', 'top', 'chain', 'circle', 'in', 'secret', 'new', 'ü'
)
const paths = fc.array(part, { maxLength: 12 }).map(parts => parts.join('/'))
const isInside = (path: string): boolean => path === base || path.startsWith(`${base}${sep}`)

t.test('no path leads out of its folder, and what is found is what the system finds', async () => {
  fc.assert(fc.property(paths, fc.boolean(), (path, follow) => {
    let found
    try {
      found = resolvePath(base, path, follow)
    } catch (error) {
      if (error instanceof WasiError) return true
      throw error
    }
    const folder = found.path === base ? base : realpathSync(dirname(found.path))
    if (found.stats !== undefined && !found.stats.isSymbolicLink() && realpathSync(join(base, path)) !== found.path) {
      return false
    }
    return isInside(found.path) && isInside(folder) && (!follow || found.stats?.isSymbolicLink() !== true)
  }), { numRuns: 5_000 })
})

t.test('what is opened is a regular file or a folder inside, and nothing is changed in a folder to read', async t => {
  const files = new Files([{ guest: '/', host: base, writable: false }])
  t.teardown(() => { files.closeAll() })
  const folder = new OpenFolder(base, false)
  const flags = fc.record({
    follow: fc.boolean(), create: fc.boolean(), directory: fc.boolean(), exclusive: fc.boolean(),
    truncate: fc.boolean(), read: fc.boolean(), write: fc.boolean()
  })
  fc.assert(fc.property(paths, flags, (path, opening) => {
    try {
      const opened = files.open(folder, path, opening)
      if (!(opened instanceof OpenFile)) return isInside(opened.path) && !opened.writable
      const buffer = new Uint8Array(16)
      const text = Buffer.from(buffer.subarray(0, opened.read(buffer, 0))).toString()
      files.close(opened)
      return text === 'inside' && !opening.write && !opening.truncate
    } catch (error) {
      return error instanceof WasiError
    }
  }), { numRuns: 3_000 })
})
