import { execFileSync } from 'node:child_process'
import {
  appendFile, chmod, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, utimes, writeFile
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { digestsOf, hashOf, readFolder, type ContentEntry } from '../../../plugins/toolkit/trust/folder-content.ts'
import { FolderFault, limits, walkFolder } from '../../../plugins/toolkit/trust/walk.ts'

const root = await mkdtemp(join(tmpdir(), 'skillet-trust-'))
t.teardown(() => rm(root, { recursive: true, force: true }))
let made = 0

/** A new folder with these files. */
async function folderOf (files: Record<string, string>): Promise<string> {
  const folder = join(root, String(made++))
  await mkdir(folder)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

const name = fc.stringMatching(/^[a-z.]{1,4}$/).filter(name => !/^\.{1,2}$/.test(name))
const content = fc.string({ maxLength: 40 })
const tree = fc.dictionary(
  fc.array(name, { minLength: 1, maxLength: 3 }).map(parts => `d/${parts.join('-')}`),
  content,
  { minKeys: 2, maxKeys: 6 }
)

/** The single changes that a person, a tool or an attacker can make to a folder. */
const changes: Record<string, (folder: string, file: string) => Promise<void>> = {
  'a byte is added': async (folder, file) => { await appendFile(join(folder, file), 'x') },
  'a byte is replaced': async (folder, file) => {
    const bytes = await readFile(join(folder, file))
    bytes[0] = (bytes[0] ?? 0) ^ 1
    await writeFile(join(folder, file), bytes.length === 0 ? 'x' : bytes)
  },
  'it becomes executable': async (folder, file) => { await chmod(join(folder, file), 0o755) },
  'it is renamed': async (folder, file) => { await rename(join(folder, file), join(folder, `${file}-renamed`)) },
  'it is moved': async (folder, file) => { await rename(join(folder, file), join(folder, 'moved')) },
  'it is removed': async (folder, file) => { await rm(join(folder, file)) },
  'a file is added': async folder => { await writeFile(join(folder, 'another'), '') },
  'a hidden file is added': async folder => { await writeFile(join(folder, 'd', '.hidden'), '') },
  'a package is added': async folder => { await mkdir(join(folder, 'node_modules')) },
  'it becomes a folder': async (folder, file) => {
    await rm(join(folder, file))
    await mkdir(join(folder, file))
  },
  'it becomes a link to a copy': async (folder, file) => {
    await rename(join(folder, file), join(folder, 'copy'))
    await symlink(join(folder, 'copy'), join(folder, file))
  }
}

t.test('every single change of a folder changes its hash and names the entry, and a copy elsewhere keeps it', async () => {
  await fc.assert(fc.asyncProperty(
    tree,
    fc.constantFrom(...Object.keys(changes)),
    fc.nat(),
    async (files, change, nth) => {
      const folder = await folderOf(files)
      const before = await readFolder(folder)
      const copy = join(root, String(made++))
      await cp(folder, copy, { recursive: true })
      if ((await readFolder(copy)).hash !== before.hash) throw new Error('a copy has another hash')
      const file = Object.keys(files)[nth % Object.keys(files).length] ?? ''
      await changes[change]?.(folder, file)
      const after = await readFolder(folder)
      if (after.hash === before.hash) throw new Error(`${change}: the hash stays`)
      if (after.stamp === before.stamp) throw new Error(`${change}: the stamp stays`)
      const [old, now] = [digestsOf(before.entries), digestsOf(after.entries)]
      if (JSON.stringify(Object.entries(old).sort()) === JSON.stringify(Object.entries(now).sort())) {
        throw new Error(`${change}: no entry is named`)
      }
    }
  ), { numRuns: 33 })
})

t.test('other lists of entries have other hashes, whatever their texts hold', async t => {
  const text = fc.string({ maxLength: 6 })
  const entry = fc.record({
    path: text, type: fc.constantFrom('file', 'link'), executable: fc.boolean(), size: fc.nat(3)
  })
  const withTexts = fc.tuple(entry, fc.option(text, { nil: undefined }), fc.option(text, { nil: undefined }))
    .map(([entry, link, sha256]): ContentEntry =>
      ({ ...entry, type: entry.type, ...(link !== undefined && { link }), ...(sha256 !== undefined && { sha256 }) }))
  fc.assert(fc.property(fc.array(withTexts, { maxLength: 3 }), fc.array(withTexts, { maxLength: 3 }), (a, b) => {
    const fields = (entries: readonly ContentEntry[]): string => JSON.stringify(entries.map(
      ({ path, type, executable, size, link, sha256 }) => [path, type, executable, size, link ?? null, sha256 ?? null]
    ))
    return (hashOf(a) === hashOf(b)) === (fields(a) === fields(b))
  }))
  const link = (link: string, sha256: string): ContentEntry[] =>
    [{ path: 'a', type: 'link', executable: false, size: 0, link, sha256 }]
  for (const separator of [',', ' ', '\0', '\n', '","', '|']) {
    t.not(hashOf(link(`b${separator}`, 'c')), hashOf(link('b', `${separator}c`)))
  }
})

t.test('times do not count for the hash, and a file of the same size and time does', async t => {
  const folder = await folderOf({ a: 'one', b: 'two' })
  await utimes(join(folder, 'b'), 5, 5)
  const { hash, stamp } = await readFolder(folder)
  await utimes(join(folder, 'a'), 1, 1)
  t.equal((await readFolder(folder)).hash, hash)
  await utimes(join(folder, 'a'), 5, 5)
  const between = await readFolder(folder)
  t.not(between.stamp, stamp)
  const { ino } = await stat(join(folder, 'b'))
  await writeFile(join(folder, 'b'), 'TWO')
  await utimes(join(folder, 'b'), 5, 5)
  t.equal((await stat(join(folder, 'b'))).ino, ino)
  const after = await readFolder(folder)
  t.not(after.hash, hash)
  t.not(after.stamp, between.stamp)
})

t.test('a link that leaves the folder counts with the file behind it, and is named', async t => {
  const outside = await folderOf({ target: 'one', 'folder/file': 'one' })
  const folder = await folderOf({ a: 'a' })
  await symlink(join(outside, 'target'), join(folder, 'file'))
  await symlink(join(outside, 'folder'), join(folder, 'folder'))
  await symlink('nowhere', join(folder, 'broken'))
  await symlink('a', join(folder, 'inside'))
  await symlink('circle', join(folder, 'circle'))
  const before = await readFolder(folder)
  t.same(before.entries.filter(({ outside }) => outside !== undefined).map(({ path }) => path), [
    'broken', 'circle', 'file', 'folder'
  ])
  await writeFile(join(outside, 'folder', 'file'), 'two')
  t.equal((await readFolder(folder)).hash, before.hash, 'what is in a linked folder is not covered')
  await writeFile(join(outside, 'target'), 'two')
  const after = await readFolder(folder)
  t.not(after.hash, before.hash)
  t.not(after.stamp, before.stamp)
  await rm(join(folder, 'file'))
  await symlink(join(outside, 'folder', 'file'), join(folder, 'file'))
  t.not((await readFolder(folder)).hash, after.hash, 'the link was swapped')
})

t.test('what is neither file, folder nor link is refused, and never opened', async t => {
  const folder = await folderOf({ a: 'a' })
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await t.rejects(
    readFolder(folder),
    new FolderFault(`${folder}/pipe is a FIFO; a folder that is trusted holds files, folders and links only: remove it`)
  )
  const linked = await folderOf({ a: 'a' })
  await symlink(join(folder, 'pipe'), join(linked, 'pipe'))
  t.equal((await readFolder(linked)).entries.find(({ path }) => path === 'pipe')?.sha256, undefined)
})

t.test('a folder that is too large, too deep, or has names that are not UTF-8 is refused', async t => {
  const folder = await folderOf({ a: 'aaaa', b: 'bbbb', 'c/d/e/f': '' })
  await t.rejects(walkFolder(folder, { ...limits, entriesMax: 3 }), /has more than 3 files and folders/)
  await t.rejects(walkFolder(folder, { ...limits, bytesMax: 7 }), /have more than 7 bytes/)
  await t.rejects(walkFolder(folder, { ...limits, depthMax: 2 }), /more than 2 folders lie within each other/)
  await t.rejects(walkFolder(join(folder, 'missing')), /missing can't be read: ENOENT/)
  await writeFile(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), 'x')
  await t.rejects(walkFolder(folder), /a name that is not UTF-8/)
})

t.test('a file that grows without end is refused', async t => {
  const folder = await folderOf({ log: 'x'.repeat(1_000_000) })
  const stop = new AbortController()
  const growing = (async () => {
    while (!stop.signal.aborted) {
      await appendFile(join(folder, 'log'), 'y')
      await new Promise(resolve => { setTimeout(resolve, 2) })
    }
  })()
  await t.rejects(readFolder(folder), /is being changed|are being changed|changes while it is read/)
  stop.abort()
  await growing
})

t.test('a folder that changes between the first look and the end of the reading is read again', async t => {
  const folder = await folderOf({ a: 'one', z: 'z' })
  const walked = await walkFolder(folder)
  await new Promise(resolve => { setTimeout(resolve, 60) }) // the clock of the files moves on
  await writeFile(join(folder, 'a'), 'two')
  const content = await readFolder(folder, { walked })
  const now = await walkFolder(folder)
  t.not(walked.stamp, now.stamp)
  t.equal(content.stamp, now.stamp)
  t.equal(content.newest_ms, now.newest_ms)
  t.equal(content.hash, (await readFolder(folder)).hash)
})

t.test('a folder that was just changed is read after the clock of its files has moved on', async t => {
  const folder = await folderOf({ a: 'a' })
  await writeFile(join(folder, 'a'), 'b')
  const { newest_ms } = await readFolder(folder)
  t.ok(Date.now() >= newest_ms + 50)
})
