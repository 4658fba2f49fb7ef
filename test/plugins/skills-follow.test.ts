import { EventEmitter } from 'node:events'
import { mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { completeConfig, Scope, silentLogger, type LoadedSkills } from '../../kernel/index.ts'
import { Describing } from '../../plugins/skills-directory/descriptions/skill-descriptions.ts'
import { Follow, type FollowOptions } from '../../plugins/skills-directory/library/follow.ts'
import { Interpreters } from '../../plugins/skills-directory/descriptions/interpreters.ts'
import { Library } from '../../plugins/skills-directory/library/library.ts'
import { SkillTrust } from '../../plugins/skills-directory/trust/skill-trust.ts'
import { until } from '../../plugins/testing/until.ts'

const never = new AbortController().signal

interface Followed {
  root: string
  library: Library
  degraded: () => string | undefined
  fresh: () => Promise<LoadedSkills>
  changes: () => number
}

/**
 * A library of two directories that is followed, and one that reads them anew each time.
 * @param before called with the library before it is followed
 */
async function follow (
  t: Test, options: Partial<FollowOptions> = {}, patience_ms = 50, before: (library: Library) => void = () => {}
): Promise<Followed> {
  const scope = new Scope()
  t.teardown(() => scope.close())
  const root = await mkdtemp(join(tmpdir(), 'skillet-follow-'))
  scope.defer(() => rm(root, { recursive: true, force: true }))
  await mkdir(join(root, 'one'))
  const library = (data: string): Library => {
    const describing = new Describing({
      // Modules run in threads: processes would take most of the time.
      config: completeConfig({ isolation: { mode: 'off' } }), data_dir: join(root, data), log: silentLogger,
      health: { degrade () {}, recover () {}, warn () {} }
    }, 60_000)
    scope.defer(() => describing.close())
    const places = ['one', 'two'].map(name => ({ path: join(root, name), named: false, bundled: false }))
    return new Library({
      places,
      trust: new SkillTrust({ directories: [], locked: false }),
      describing,
      confines: false,
      interpreters: new Interpreters({}),
      list_ms: 60_000,
      patience_ms,
      wait_ms: 60_000
    })
  }
  const followed = library('data')
  const anew = library('anew')
  await followed.load(never)
  before(followed)
  let degraded: string | undefined
  let changes = 0
  const health = { degrade (reason: string) { degraded = reason }, recover () { degraded = undefined }, warn () {} }
  const following = new Follow({
    library: followed, changed: () => { changes++ }, mode: 'events', log: silentLogger, health, ...options
  })
  scope.defer(() => following.close())
  return { root, library: followed, degraded: () => degraded, fresh: () => anew.load(never), changes: () => changes }
}

const toml = (says: string): string =>
  `description = "Says ${says}"\n[[tools]]\nname = "say"\ndescription = "Say"\ncommand = ["echo"]\n`
const js = (says: string): string =>
  `import { word } from '../shared.js'\nexport default { description: word + '${says}', tools: { go: { description: 'Go', run () {} } } }\n`
const md = (says: string): string => `---\nname: any\ndescription: About ${says}\n---\n${says}\n`

const place = fc.constantFrom('one', 'two')
const name = fc.constantFrom('a', 'b', 'c')
const file = fc.constantFrom('skill.toml', 'skill.js', 'SKILL.md')
const says = fc.constantFrom('hello', 'again', 'more')
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('write' as const), place, name, file, says, broken: fc.boolean() })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), place, name, file: fc.option(file) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), place, name, to: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace' as const), place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('link' as const), place, name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('share' as const), place, says }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pause' as const), ms: fc.integer({ min: 1, max: 400 }) }) }
)

type Step = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** Does one thing to the directories; what is not there to be done with is left. */
async function perform (root: string, step: Step): Promise<void> {
  switch (step.do) {
    case 'write': {
      const text = { 'skill.toml': toml, 'skill.js': js, 'SKILL.md': md }[step.file](step.says)
      await mkdir(join(root, step.place, step.name), { recursive: true }).catch(() => {})
      return await writeFile(
        join(root, step.place, step.name, step.file),
        step.broken ? text.slice(0, text.length / 3) : text
      ).catch(() => {})
    }
    case 'remove': return await rm(join(root, step.place, step.name, step.file ?? ''), { recursive: true, force: true })
    case 'move': return await rename(join(root, step.place, step.name), join(root, step.place, step.to)).catch(() => {})
    case 'replace':
      await rm(join(root, step.place), { recursive: true, force: true })
      return await mkdir(join(root, step.place))
    case 'link': return await symlink(join(root, 'one'), join(root, step.place, step.name)).catch(() => {})
    case 'share': return await writeFile(join(root, step.place, 'shared.js'), `export const word = '${step.says}'\n`)
      .catch(() => {})
    case 'pause': return await new Promise(resolve => { setTimeout(resolve, step.ms) })
  }
}

/** What can be compared: a skill that serves although it is broken is only broken for who reads it anew. */
function comparable ({ skills, quarantined }: LoadedSkills): unknown {
  const kept = new Set(quarantined.filter(({ serving }) => serving).map(({ name }) => name))
  return {
    skills: skills.filter(({ name }) => !kept.has(name)).map(({ name, description, directory, tools }) =>
      `${name} ${description} ${directory} ${tools.map(tool => tool.name).join()}`).sort(),
    quarantined: quarantined.map(({ path, error }) => `${path} ${error}`).sort()
  }
}

t.test('whatever is done to the directories, following them ends where reading them anew does', async t => {
  const { root, library, fresh } = await follow(t)
  await writeFile(join(root, 'one', 'shared.js'), 'export const word = \'first\'\n')
  const replaced: Step[] = [
    { do: 'write', place: 'two', name: 'b', file: 'skill.toml', says: 'again', broken: false },
    { do: 'replace', place: 'two' }, { do: 'pause', ms: 300 },
    { do: 'write', place: 'two', name: 'b', file: 'SKILL.md', says: 'hello', broken: true }
  ]
  await fc.assert(fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 12 }), async steps => {
    for (const step of steps) await perform(root, step)
    const goal = JSON.stringify(comparable(await fresh()))
    await until(() => JSON.stringify(comparable(library.loaded)) === goal)
  }), { numRuns: 6, endOnFailure: true, examples: [[replaced]] })
})

t.test('a module that can\'t be built is built when a file elsewhere, or a package, that it lacked is there', async t => {
  const { root, library } = await follow(t)
  const skill = (description: string, imported: string): string =>
    `import { word } from '${imported}'\nexport default { description: word + ' ${description}', tools: { go: { description: 'Go', run () {} } } }\n`
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  await write('one/file/skill.js', skill('file', '../shared/word.js'))
  await write('one/ending/skill.js', skill('ending', '../../elsewhere/word'))
  await write('one/package/skill.js', skill('package', '@some/words/plain'))
  await write('one/broken/skill.js', skill('broken', '../broken.js'))
  await write('one/broken.js', 'export const word =')
  await until(() => library.loaded.quarantined.length === 4)
  await write('one/shared/word.js', 'export const word = \'A\'')
  await write('elsewhere/word.ts', 'export const word: string = \'B\'')
  await write('one/broken.js', 'export const word = \'C\'')
  await write('one/package/node_modules/@some/words/plain.js', 'export const word = \'D\'')
  await write(
    'one/package/node_modules/@some/words/package.json',
    '{ "name": "@some/words", "version": "1.0.0", "type": "module", "exports": { "./plain": "./plain.js" } }'
  )
  await until(() => library.loaded.skills.length === 4)
  t.same(library.loaded.skills.map(({ description }) => description).sort(), [
    'A file', 'B ending', 'C broken', 'D package'
  ])
  t.same(library.loaded.quarantined, [])
})

t.test('a look for what faulty skills lack begins after the one before has ended', async t => {
  let looks = 0
  let now = 0
  let most = 0
  await follow(t, {}, 50, library => {
    library.mendable = async () => {
      looks++
      most = Math.max(most, ++now)
      await new Promise(resolve => { setTimeout(resolve, looks === 1 ? 2_500 : 0) }) // longer than looks are apart
      now--
      return new Map()
    }
  })
  await until(() => looks >= 3)
  t.equal(most, 1)
})

t.test('a look is bounded, and each faulty skill has its turn', async t => {
  const { root, library } = await follow(t, { mode: 'off' })
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const name of names) {
    await mkdir(join(root, 'one', name))
    const text = `import { word } from '../../lacking/${name}.js'\nexport default word\n`
    await writeFile(join(root, 'one', name, 'skill.js'), text)
  }
  await library.load(never)
  t.equal(library.loaded.quarantined.length, names.length)
  const look = async (files_max: number, signal = never): Promise<string[]> => {
    const found = await library.mendable(files_max, signal)
    return [...found.values()].flatMap(names => [...names])
  }
  t.same(await look(1_000), [], 'nothing has changed')
  await mkdir(join(root, 'lacking'))
  for (const name of names) await writeFile(join(root, 'lacking', `${name}.js`), 'export const word = 1\n')
  t.same((await look(1_000)).sort(), names, 'all where they fit')
  const turns: string[] = []
  for (const _ of names) turns.push(...await look(1))
  t.same(turns.sort(), names, 'one in each look, and each once')
  t.same(await look(1_000, AbortSignal.abort()), [], 'none when it is ended')
})

t.test('a skill that becomes broken, or another kind of skill, is what it was until that has stayed; a new one that is broken shadows nothing before', async t => {
  const { root, library } = await follow(t, {}, 3_600_000)
  const names = (): string => library.loaded.skills.map(({ name, description }) => `${name} ${description}`).join()
  await mkdir(join(root, 'one', 'a'))
  await writeFile(join(root, 'one', 'a', 'skill.toml'), toml('one'))
  await until(() => names() === 'a Says one')
  await writeFile(join(root, 'one', 'a', 'skill.toml'), 'broken')
  await writeFile(join(root, 'one', 'a', 'SKILL.md'), md('x'))
  await mkdir(join(root, 'two', 'a'), { recursive: true })
  await writeFile(join(root, 'two', 'a', 'skill.toml'), 'broken')
  await mkdir(join(root, 'one', 'b'))
  await writeFile(join(root, 'one', 'b', 'skill.toml'), toml('b'))
  await until(() => names() === 'a Says one,b Says b')
  await rm(join(root, 'one', 'a', 'skill.toml'))
  await mkdir(join(root, 'one', 'c'))
  await writeFile(join(root, 'one', 'c', 'skill.toml'), toml('c'))
  await until(() => names().includes('c Says c'))
  t.equal(names(), 'a Says one,b Says b,c Says c', 'without its manifest, it is not the other kind of skill yet')
  t.same(library.loaded.quarantined, [])
})

t.test('the built module of a skill that serves is kept, and made again where it is gone', async t => {
  const { root, library } = await follow(t, { mode: 'polling' })
  await mkdir(join(root, 'one', 'a'))
  await writeFile(
    join(root, 'one', 'a', 'skill.js'),
    'export default { description: "A", tools: { go: { description: "Go", run () {} } } }\n'
  )
  await until(() => library.loaded.skills.length === 1)
  const module = library.loaded.skills[0]?.module ?? ''
  const old = new Date(Date.now() - 365 * 24 * 60 * 60 * 1000)
  await utimes(module, old, old)
  await until(async () => (await stat(module)).mtimeMs > old.getTime())
  await rm(module)
  await until(() => stat(module).then(() => true, () => false))
  t.equal(library.loaded.skills[0]?.module, module)
})

t.test('where the system gives no more watchers, changes are found by looking, and health says why', async t => {
  let opened = 0
  let closed = 0
  const { root, library, degraded } = await follow(t, {
    open () {
      opened++
      const watcher = Object.assign(new EventEmitter(), { async close () { closed++ } })
      setImmediate(() => {
        watcher.emit('error', Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }))
      })
      return watcher as unknown as ReturnType<NonNullable<FollowOptions['open']>>
    }
  })
  await until(() => degraded() !== undefined)
  t.match(degraded(), /found by looking every 2 s: the system's limit of watched files \(fs\.inotify\.max_user_watches\) is reached/)
  await mkdir(join(root, 'one', 'a'))
  await writeFile(join(root, 'one', 'a', 'skill.toml'), toml('one'))
  await until(() => library.loaded.skills.length === 1)
  await writeFile(join(root, 'one', 'a', 'skill.toml'), toml('two'))
  await until(() => library.loaded.skills[0]?.description === 'Says two')
  t.equal(opened, closed, 'no watcher is left')
})

t.test('watchers that failed are tried again, and health recovers when all of them work', async t => {
  let fails = true
  let opened = 0
  const { root, library, degraded } = await follow(t, {
    again_ms: 20,
    open () {
      const watcher = Object.assign(new EventEmitter(), { async close () {} })
      opened++
      setImmediate(() => {
        if (fails) watcher.emit('error', Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
        watcher.emit('ready') // as chokidar does after an error, too
      })
      return watcher as unknown as ReturnType<NonNullable<FollowOptions['open']>>
    }
  })
  await mkdir(join(root, 'one', 'a'))
  await writeFile(join(root, 'one', 'a', 'skill.toml'), toml('one'))
  await until(() => opened >= 3)
  t.match(degraded(), /found by looking every 2 s: .*too many open files/)
  fails = false
  await until(() => degraded() === undefined)
  await until(() => library.loaded.skills.length === 1)
})

t.test('a tool that breaks while it is edited: its skill goes on serving as it was, and the fault is told', async t => {
  const { root, library } = await follow(t)
  const file = join(root, 'one', 'a', 'skill.toml')
  const tool = (name: string, more = ''): string =>
    `[[tools]]\nname = "${name}"\ndescription = "x"\ncommand = ["echo"]\n${more}`
  const save = async (
    ...tools: string[]
  ): Promise<void> => { await writeFile(file, `description = "x"\n${tools.join('')}`) }
  const state = (): string => {
    const { skills, quarantined } = library.loaded
    return [
      ...skills.flatMap(({ tools }) => tools.map(({ name, timeout_ms = 0 }) => `${name} ${timeout_ms}`)),
      ...quarantined.map(({ tool, serving = false }) => `${tool} is broken${serving ? ', and serves' : ''}`)
    ].join('; ')
  }
  await mkdir(join(root, 'one', 'a'))
  await save(tool('x'), tool('y', 'bad = 1\n'))
  await until(() => state() === 'x 0; y is broken')
  await save(tool('x', 'timeout_ms = 5\n'), tool('y', 'bad = 2\n'))
  await until(() => state() === 'x 5; y is broken')
  await save(tool('x', 'bad = 1\n'), tool('y'))
  await until(() => state() === 'x 5; x is broken, and serves; y is broken')
  await save(tool('x', 'timeout_ms = 6\n'), tool('y'))
  await until(() => state() === 'x 6; y 0')
  await save(tool('y', 'timeout_ms = 7\n'))
  await until(() => state() === 'y 7')
})
