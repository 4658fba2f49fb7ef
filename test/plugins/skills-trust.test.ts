import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  appendFile, chmod, cp, mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, utimes, writeFile
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FSWatcher } from 'chokidar'
import t, { type Test } from 'tap'
import { completeConfig, Scope, silentLogger, type SkillDefinition } from '../../kernel/index.ts'
import { Describing } from '../../plugins/skills-directory/descriptions/skill-descriptions.ts'
import { Interpreters } from '../../plugins/skills-directory/descriptions/interpreters.ts'
import { Follow } from '../../plugins/skills-directory/library/follow.ts'
import { Library } from '../../plugins/skills-directory/library/library.ts'
import { Watchers, type OpenWatcher } from '../../plugins/skills-directory/library/watchers.ts'
import { SkillTrust } from '../../plugins/skills-directory/trust/skill-trust.ts'
import { asJudged } from '../../plugins/skills-directory/trust/verdict.ts'
import { until } from '../../plugins/testing/until.ts'
import { digestsOf, readFolder } from '../../plugins/toolkit/trust/folder-content.ts'
import { snapshotOf } from '../../plugins/toolkit/trust/snapshot.ts'
import { TrustFile } from '../../plugins/toolkit/trust/trust-file.ts'

const never = new AbortController().signal
const noPermissions = { network: false, write: [], env: [], secrets: [] }

interface World {
  root: string
  file: TrustFile
  library: Library
  /** Reads everything anew, as the next start does. */
  again: () => Promise<Library>
  skill: (name: string) => SkillDefinition | undefined
  about: (name: string) => string | undefined
  trust: (folder: string, name?: string) => Promise<void>
}

/** A library of the directories `one` and `two`, which is followed. */
async function world (
  t: Test,
  { locked = false, directories = [] }: { locked?: boolean, directories?: string[] } = {}
): Promise<World> {
  const scope = new Scope()
  t.teardown(() => scope.close())
  const root = await realpath(await mkdtemp(join(tmpdir(), 'skillet-trusted-')))
  scope.defer(() => rm(root, { recursive: true, force: true }))
  for (const name of ['one', 'two']) await mkdir(join(root, name))
  await mkdir(join(root, 'one', 'demo'))
  await writeFile(join(root, 'one', 'demo', 'skill.toml'), toml)
  await mkdir(join(root, 'one', 'code'))
  await writeFile(join(root, 'one', 'code', 'skill.js'), js(root))
  const file = new TrustFile(join(root, 'config'))
  const again = async (): Promise<Library> => {
    const describing = new Describing({
      // Modules run in threads: those of this test write down that they ran.
      config: completeConfig({ isolation: { mode: 'off' } }), data_dir: join(root, 'data'), log: silentLogger,
      health: { degrade () {}, recover () {}, warn () {} }
    }, 60_000)
    scope.defer(() => describing.close())
    const trust = new SkillTrust({ directories: directories.map(name => join(root, name)), file, locked })
    const places = ['one', 'two'].map(name => ({ path: join(root, name), named: false, bundled: false }))
    const library = new Library({
      places, trust, describing, confines: false, interpreters: new Interpreters({}), list_ms: 60_000,
      patience_ms: 50, wait_ms: 60_000
    })
    await library.load(never)
    return library
  }
  const library = await again()
  const following = new Follow({
    library, changed: () => {}, mode: 'events', log: silentLogger, health: { degrade () {}, recover () {}, warn () {} }
  })
  scope.defer(() => following.close())
  return {
    root, file, library, again,
    skill: name => library.loaded.skills.find(skill => skill.name === name),
    about: name =>
      library.loaded.quarantined.find(one => one.name === name)?.error
      ?? library.loaded.warnings?.find(one => one.name === name)?.warning,
    async trust (folder, name = 'demo') {
      const path = await realpath(folder)
      const { hash, entries } = await readFolder(path)
      const skill = library.loaded.skills.find(skill => skill.name === name)
        ?? { description: '', permissions: noPermissions, tools: [] }
      await file.add({
        name, path, hash, files: digestsOf(entries), snapshot: snapshotOf(skill), at: new Date().toISOString(), by: 'me'
      })
    }
  }
}

const toml = 'description = "Demo"\n[[tools]]\nname = "say"\ndescription = "Say"\ncommand = ["echo"]\n'
/** A module that leaves a line in a file whenever it is run. */
const js = (root: string): string =>
  `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(join(root, 'ran'))}, 'ran\\n')\nexport default { description: 'Code', tools: { go: { description: 'Go', run () {} } } }\n`

t.test('a skill is trusted when its content was, and no longer when any file of it changes, while it is followed', async t => {
  const { root, library, skill, about, trust, again } = await world(t)
  const folder = join(root, 'one', 'demo')
  await mkdir(join(folder, 'node_modules', 'deep'), { recursive: true })
  await writeFile(join(folder, 'node_modules', 'deep', 'file.js'), 'one')
  t.equal(skill('demo')?.trusted, false)
  await trust(folder)
  await until(() => skill('demo')?.trusted === true)
  t.equal(about('demo'), undefined)
  t.equal(skill('code')?.trusted, false)
  await t.test('files that describe nothing', async t => {
    for (const name of ['.hidden', 'node_modules/deep/file.js', 'data.bin', 'scripts/lib.json']) {
      await mkdir(join(folder, 'scripts'), { recursive: true })
      await trust(folder)
      await until(() => skill('demo')?.trusted === true)
      const before = await readFile(join(folder, name), 'utf8').catch(() => undefined)
      await writeFile(join(folder, name), 'changed')
      await until(() => skill('demo')?.trusted === false)
      t.match(about('demo'), `it changed since it was trusted: file ${name} ${before === undefined ? 'added' : 'changed'}; look at it and run: skillet trust demo`)
      t.match(library.loaded.warnings?.find(one => one.name === 'demo'), { trust: 'changed', path: folder })
      t.equal(
        (await again()).loaded.skills.find(one => one.name === 'demo')?.trusted, false, 'the next start says so as well'
      )
      if (before === undefined) await rm(join(folder, name))
      else await writeFile(join(folder, name), before)
      await until(() => skill('demo')?.trusted === true) // it has the content again
    }
  })
  const { ino, size } = await stat(join(folder, 'skill.toml'))
  await writeFile(join(root, 'aside'), toml.replace('echo', 'eval'))
  await utimes(join(root, 'aside'), 5, 5)
  await rename(join(root, 'aside'), join(folder, 'skill.toml'))
  t.not((await stat(join(folder, 'skill.toml'))).ino, ino)
  t.equal((await stat(join(folder, 'skill.toml'))).size, size)
  await until(() => skill('demo')?.trusted === false)
  t.match(about('demo'), 'what tool say runs changed; it changed since it was trusted: file skill.toml changed')
})

t.test('a folder that can\'t be trusted is not, and says why', async t => {
  const { root, skill, about, trust } = await world(t)
  const folder = join(root, 'one', 'demo')
  await trust(folder)
  await until(() => skill('demo')?.trusted === true)
  execFileSync('mkfifo', [join(folder, 'pipe')])
  await until(() => skill('demo')?.trusted === false)
  t.match(about('demo'), `it changed since it was trusted: ${folder}/pipe is a FIFO`)
  await rm(join(folder, 'pipe'))
  await until(() => skill('demo')?.trusted === true)
  await rm(folder, { recursive: true })
  await until(() => skill('demo') === undefined)
})

t.test('trust belongs to a folder: a copy, another folder of the name, and a swapped link are not trusted', async t => {
  const { root, skill, trust } = await world(t)
  const good = join(root, 'good')
  await cp(join(root, 'one', 'demo'), good, { recursive: true })
  await cp(good, join(root, 'evil'), { recursive: true })
  await symlink(good, join(root, 'two', 'demo'))
  await trust(good)
  await until(() => skill('demo')?.trusted === true)
  await rm(join(root, 'two', 'demo'))
  await symlink(join(root, 'evil'), join(root, 'two', 'demo'))
  await until(() => skill('demo')?.trusted === false)
  await rm(join(root, 'two', 'demo'))
  await trust(join(root, 'one', 'demo'))
  await until(() => skill('demo')?.trusted === true)
  await cp(good, join(root, 'two', 'demo'), { recursive: true }) // shadows the trusted one
  await until(() => skill('demo')?.directory === join(root, 'two', 'demo'))
  t.equal(skill('demo')?.trusted, false)
})

t.test('a skill with files elsewhere: behind a link they count, and code from outside of the folder is not trusted', async t => {
  const { root, skill, about, trust } = await world(t)
  await writeFile(join(root, 'target'), 'one')
  await symlink(join(root, 'target'), join(root, 'one', 'demo', 'linked'))
  await trust(join(root, 'one', 'demo'))
  await until(() => skill('demo')?.trusted === true)
  await writeFile(join(root, 'target'), 'two')
  await until(() => skill('demo')?.trusted === false)
  await writeFile(join(root, 'one', 'shared.js'), 'export const word = "one"\n')
  await writeFile(
    join(root, 'one', 'code', 'skill.js'),
    `import { word } from '../shared.js'\n${js(root).replace('\'Code\'', 'word')}`
  )
  await until(() => skill('code')?.description === 'one')
  await trust(join(root, 'one', 'code'), 'code')
  await until(() => about('code') !== undefined)
  t.equal(skill('code')?.trusted, false)
  t.match(about('code'), `its code is also made of ${join(root, 'one', 'shared.js')}, which is outside of its folder`)
})

t.test('with the lock, only trusted skills serve, and the module of another one is not run', async t => {
  const { root, library, skill, about, trust, again } = await world(t, { locked: true })
  t.same(library.loaded.skills, [])
  t.match(about('demo'), 'it was never trusted, and skills.locked is set; look at it and run: skillet trust demo')
  t.same(library.loaded.quarantined.map(({ name, trust }) => [name, trust]), [['code', 'none'], ['demo', 'none']])
  t.notOk(existsSync(join(root, 'ran')))
  await trust(join(root, 'one', 'code'), 'code')
  await until(() => skill('code')?.trusted === true)
  const ran = await readFile(join(root, 'ran'), 'utf8')
  await appendFile(join(root, 'one', 'code', 'skill.js'), '// more\n')
  await until(() => skill('code') === undefined)
  t.match(about('code'), 'it changed since it was trusted: file skill.js changed; look at it and run: skillet trust code')
  t.same((await again()).loaded.skills, [])
  t.equal(await readFile(join(root, 'ran'), 'utf8'), ran, 'neither the server nor the next start ran it')
  await trust(join(root, 'one', 'code'), 'code')
  await until(() => skill('code')?.trusted === true)
  await writeFile(join(root, 'one', 'code', 'skill.js'), 'not code')
  await until(() => skill('code') === undefined) // its last good version does not go on serving
})

t.test('with the lock, what changed of a skill of commands is named', async t => {
  const { root, skill, about, trust } = await world(t, { locked: true, directories: ['two'] })
  await cp(join(root, 'one', 'demo'), join(root, 'two', 'free'), { recursive: true })
  await until(() => skill('free')?.trusted === true) // its directory is trusted
  await trust(join(root, 'one', 'demo'))
  await until(() => skill('demo')?.trusted === true)
  await trust(join(root, 'one', 'demo')) // now with its tools
  await writeFile(
    join(root, 'one', 'demo', 'skill.toml'),
    `${toml.replace('"Say"', '"Say it"')}\n[[tools]]\nname = "more"\ndescription = "More"\ncommand = ["rm"]\n[permissions]\nnetwork = true\n`
  )
  await until(() => skill('demo') === undefined)
  t.match(about('demo'), 'permission network changed, the description of tool say changed, tool more added; it changed since it was trusted: file skill.toml changed')
})

t.test('a trust file that others can write to trusts nothing, and is a fault', async t => {
  const { root, file, library, skill, about, trust } = await world(t)
  await trust(join(root, 'one', 'demo'))
  await until(() => skill('demo')?.trusted === true)
  await chmod(file.path, 0o666)
  await until(() => skill('demo')?.trusted === false)
  t.match(about('trust.json'), `other users can write to ${file.path}; run: chmod go-w`)
  await chmod(file.path, 0o600)
  await until(() => skill('demo')?.trusted === true)
  t.same(library.loaded.quarantined, [])
  await file.remove(() => true)
  await until(() => skill('demo')?.trusted === false)
  t.equal(about('demo'), undefined, 'it is as it was before it was trusted')
})

t.test('every file of a trusted skill is watched, and the file behind a link', async t => {
  const { root, library, skill, trust } = await world(t)
  const folder = join(root, 'one', 'demo')
  await writeFile(join(root, 'target'), 'one')
  await symlink(join(root, 'target'), join(folder, 'linked'))
  const watched = (path: string): boolean => {
    let found = false
    const open: OpenWatcher = (paths, { ignored }) => {
      found ||= paths.some(one => path.startsWith(one)) && typeof ignored === 'function' && !ignored(path)
      return Object.assign(new FSWatcher(), { async close () {} })
    }
    new Watchers({ open, log: silentLogger, hint: () => {}, failed: () => {}, works: () => {} }).follow(library.shelves)
    return found
  }
  const paths =
    [join(folder, '.hidden'), join(folder, 'node_modules', 'a', 'b.js'), join(folder, 'data.bin'), join(root, 'target')]
  t.same(paths.map(watched), [false, false, true, false])
  await trust(folder)
  await until(() => skill('demo')?.trusted === true)
  t.same(paths.map(watched), [true, true, true, true])
})

t.test('a description that may be of other files than those that were hashed is made once more', async t => {
  const { root, file, trust, library } = await world(t)
  const folder = join(root, 'one', 'demo')
  await trust(folder)
  const judge = new SkillTrust({ directories: [], file, locked: false })
  await judge.refresh()
  const place = { path: join(root, 'one'), named: false, bundled: false }
  const looked = { name: 'demo', path: folder, real_path: folder, identity: '', module: false, revision: '' }
  const verdict = await judge.judge(place, looked)
  t.same(verdict, { reason: 'content', quarantined: false })
  const { newest_ms } = await readFolder(folder)
  const skill = library.loaded.skills.find(({ name }) => name === 'demo')
  if (skill === undefined) throw new Error('it is not loaded')
  t.equal(
    await judge.confirm(verdict, looked, skill, [], newest_ms + 10), undefined, 'begun in the same step of the clock'
  )
  t.same(await judge.confirm(verdict, looked, skill, [], Date.now()), verdict)
  await utimes(join(folder, 'skill.toml'), 5, 5)
  t.equal(
    await judge.confirm(verdict, looked, skill, [], Date.now()), undefined, 'a file was changed after it was hashed'
  )
})

t.test('a skill that is not trusted any more has one copy', async t => {
  const { library } = await world(t)
  const [skill] = library.loaded.skills
  if (skill === undefined) throw new Error('nothing is loaded')
  const trusted = { ...skill, trusted: true, digest: 'd' }
  const changed = { reason: 'changed', quarantined: false } as const
  t.match(asJudged(trusted, changed), { trusted: false, digest: 'd untrusted' })
  t.equal(asJudged(trusted, changed), asJudged(trusted, changed))
  t.equal(asJudged(trusted, { reason: 'content', quarantined: false }), trusted)
})
