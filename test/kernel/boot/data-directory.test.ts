import {
  chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  findDirectoryFaults, historyFileName, messageOf, secureDataDirectory, silentLogger
} from '../../../kernel/index.ts'
import { startKernel } from '../../support/kernel.ts'

const modeOf = (path: string): number => statSync(path).mode & 0o7777

/** What it is refused with; undefined when it is not. What was said in the log is in `said`. */
function secure (directory: string): { refused: string | undefined, said: string[] } {
  const said: string[] = []
  try {
    secureDataDirectory(directory, { ...silentLogger, warn (_fields, message) { said.push(message) } })
    return { refused: undefined, said }
  } catch (error) {
    return { refused: messageOf(error), said }
  }
}

/** An empty directory that is closed to others, under one that is. */
function makePlace (t: { teardown: (undo: () => void) => void }): string {
  const place = mkdtempSync(join(tmpdir(), 'skillet-data-'))
  t.teardown(() => { rmSync(place, { recursive: true, force: true }) })
  mkdirSync(join(place, 'data'), { mode: 0o700 })
  return place
}

t.test('a directory that is not there is made for its owner alone, whatever leads to it', async t => {
  const place = makePlace(t)
  symlinkSync('data', join(place, 'link'))
  t.strictSame(secure(join(place, 'link', 'deep', 'er')), { refused: undefined, said: [] })
  t.strictSame([modeOf(join(place, 'data', 'deep')), modeOf(join(place, 'data', 'deep', 'er'))], [0o700, 0o700])
  t.strictSame(secure(join(place, 'link', 'deep', 'er/')), { refused: undefined, said: [] })
  t.strictSame(findDirectoryFaults(join(place, 'nowhere')), [])
})

t.test('a directory or a file in it that is open to others is closed where it is Skillet\'s', async t => {
  const place = makePlace(t)
  const [data, history, lock] =
    [join(place, 'data'), join(place, 'data', historyFileName), join(place, 'data', `${historyFileName}-lock`)]
  chmodSync(data, 0o755)
  t.match(findDirectoryFaults(data), [
    { text: /is open to others \(its mode is 0755\)/, remedy: `close it: chmod 700 ${data}` }
  ])
  t.match(secure(data), { refused: undefined, said: [/data is open to others .*; it is closed now/] })
  for (const path of [history, lock]) writeFileSync(path, 'kept')
  mkdirSync(join(data, 'cache'))
  chmodSync(history, 0o644)
  chmodSync(lock, 0o660)
  chmodSync(data, 0o777)
  t.equal(secure(data).said.length, 3)
  t.strictSame([modeOf(data), modeOf(history), modeOf(lock)], [0o700, 0o600, 0o600])
  t.equal(readFileSync(history, 'utf8'), 'kept')
  t.strictSame([secure(data), findDirectoryFaults(data)], [{ refused: undefined, said: [] }, []])
})

t.test('what is open to others and not only Skillet\'s is refused, and left as it is', async t => {
  const data = join(makePlace(t), 'data')
  writeFileSync(join(data, 'index.html'), '')
  chmodSync(data, 0o755)
  t.match(secure(data).refused, /data is open to others \(its mode is 0755\), and it holds what is not Skillet's, such as "index.html"; name a directory within it with --data-dir, or close it: chmod 700 /)
  writeFileSync(join(data, historyFileName), '')
  chmodSync(data, 0o1777)
  t.match(secure(data).refused, /is open to others \(its mode is 1777\); name a directory within it with --data-dir/, 'such as /tmp')
  t.equal(modeOf(data), 0o1777)
  t.equal(
    secure(join(data, 'index.html')).refused,
    `${join(data, 'index.html')} is not a directory; name another with --data-dir`
  )
})

t.test('symbolic links are refused, the directory itself and all that it holds', async t => {
  const place = makePlace(t)
  const elsewhere = join(place, 'elsewhere')
  writeFileSync(elsewhere, 'theirs', { mode: 0o644 })
  symlinkSync('data', join(place, 'link'))
  symlinkSync('nowhere', join(place, 'dangling'))
  for (const link of ['link', 'link/', 'dangling']) {
    t.match(
      secure(join(place, link)).refused,
      /the data directory .*(link|dangling) is a symbolic link; name the directory it leads to with --data-dir/
    )
  }
  for (const name of [historyFileName, `${historyFileName}-lock`, 'cache']) {
    for (const target of [elsewhere, 'nowhere']) {
      symlinkSync(target, join(place, 'data', name))
      chmodSync(join(place, 'data'), 0o755)
      t.match(secure(join(place, 'data')), {
        refused: new RegExp(`holds a symbolic link, .*data/${name}; put what it leads to in its place, or remove it`),
        said: []
      })
      t.equal(modeOf(join(place, 'data')), 0o755, 'where something is refused, nothing is changed')
      rmSync(join(place, 'data', name))
    }
  }
  t.strictSame([readFileSync(elsewhere, 'utf8'), modeOf(elsewhere)], ['theirs', 0o644])
})

t.test('what belongs to another user is refused', async t => {
  const isRoot = process.geteuid?.() === 0
  const place = makePlace(t)
  const data = join(place, 'data')
  // Only root can give a directory away; the system's is another's for everybody else.
  if (isRoot) chownSync(data, 65_534, 65_534)
  t.match(secure(isRoot ? data : '/usr').refused, /the data directory .* belongs to another user \(its user id is \d+, and that of this process \d+\); run Skillet as that user, make it yours \(chown -R \d+ .*\), or name another directory/)
  if (!isRoot) return
  chownSync(data, 0, 0)
  writeFileSync(join(data, historyFileName), '', { mode: 0o600 })
  chownSync(join(data, historyFileName), 65_534, 65_534)
  t.match(secure(data).refused, /data\/history\.mdb belongs to another user \(its user id is 65534/)
})

t.test('a kernel starts on no such directory', async t => {
  const place = makePlace(t)
  symlinkSync('data', join(place, 'link'))
  await t.rejects(startKernel({ data_dir: join(place, 'link') }), { message: /link is a symbolic link/ })
  const { close } = await startKernel({ data_dir: join(place, 'data') })
  await close()
})
