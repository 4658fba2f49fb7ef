import { SKILL_NAME, TOOL_NAME, type LoadedSkills, type SkillSource } from '../../kernel/index.ts'
import type { TestContext } from './context.ts'
import type { Opened } from './open-plugin.ts'
import { until } from './until.ts'

/** What the suite needs to know of a source of skills. What it names is there from the start. */
export interface SkillSourceHarness {
  /** Opens one that finds `good`, at least one more skill, and `broken`. */
  open (): Promise<Pick<Opened<SkillSource>, 'service' | 'close'>>
  /** The name of a skill that it finds. */
  good: string
  /** The name of a skill that it finds and can't load. Absent where none can be broken. */
  broken?: string
  /**
   * Makes the source of the last `open` find something else from now on. Absent where nothing can change, so that there
   * is nothing to watch.
   */
  change? (): Promise<void> | void
}

const never = new AbortController().signal

/** What every source of skills must do. */
export async function testSkillSource (t: TestContext, harness: SkillSourceHarness): Promise<void> {
  const using = (test: (t: TestContext, source: SkillSource) => Promise<void>) =>
    async (t: TestContext): Promise<void> => {
      const opened = await harness.open()
      t.teardown(() => opened.close())
      await test(t, opened.service)
    }
  await testLoading(t, harness, using)
  await testBroken(t, harness, using)
  await testWatching(t, harness, using)
}

type Using = (test: (t: TestContext, source: SkillSource) => Promise<void>) => (t: TestContext) => Promise<void>

async function testLoading (t: TestContext, { good, broken }: SkillSourceHarness, using: Using): Promise<void> {
  await t.test('loading twice gives the same', using(async (t, source) => {
    const first = await source.load(never)
    t.ok(first.skills.some(({ name }) => name === good), `it finds ${good}`)
    t.same(plain(await source.load(never)), plain(first))
    const [second, third] = await Promise.all([source.load(never), source.load(never)])
    t.same([plain(second), plain(third)], [plain(first), plain(first)], 'at once, too')
  }))

  await t.test('skills are plain data, with names and schemas that the kernel takes', using(async (t, source) => {
    const { skills } = await source.load(never)
    t.ok(skills.length >= 2, 'the harness has more than one skill')
    t.equal(new Set(skills.map(({ name }) => name)).size, skills.length, 'each name once')
    for (const skill of skills) {
      t.same(structuredClone(skill), skill, `${skill.name} crosses the borders of threads`)
      t.match(skill.name, SKILL_NAME)
      t.ok(
        skill.runtime !== '' && skill.revision !== '' && skill.directory !== '',
        `${skill.name} says what runs it, which code it has, and where it is`
      )
      const missing = ['env', 'network', 'secrets', 'write'].filter(kind => !Object.hasOwn(skill.permissions, kind))
      t.same(missing, [], `${skill.name} has all permissions that have a default`)
      t.equal(new Set(skill.tools.map(({ name }) => name)).size, skill.tools.length, 'each tool once')
      for (const tool of skill.tools) {
        t.match(tool.name, TOOL_NAME)
        t.match(tool.input_schema, { type: 'object' }, `${skill.name}:${tool.name}`)
        const names = new Set(tool.parameters.map(({ name }) => name))
        t.same(tool.secrets.filter(secret => !names.has(secret)), [], 'secrets are parameters')
      }
    }
  }))

  await t.test('an aborted load rejects, and the next one is unharmed', using(async (t, source) => {
    await t.rejects(source.load(AbortSignal.abort(new Error('stopped'))))
    t.ok((await source.load(never)).skills.some(({ name }) => name === good))
  }))

  await t.test('a load that is aborted at once after it began settles', using(async (t, source) => {
    const abort = new AbortController()
    const loading = source.load(abort.signal).then(() => 'loaded', () => 'rejected')
    abort.abort(new Error('stopped'))
    t.match(await loading, /^(loaded|rejected)$/)
    t.ok((await source.load(never)).skills.some(({ name }) => name === good))
  }))

  await t.test('the one skill that is asked for is as it is among all; one that is not there is no failure', using(async (t, source) => {
    const find = ({ skills }: LoadedSkills): unknown => skills.find(({ name }) => name === good)
    const only = await source.load(never, good)
    t.same(find(only), find(await source.load(never)))
    const none = await source.load(never, 'there-is-no-such-skill')
    t.same(none.skills.filter(({ name }) => name === 'there-is-no-such-skill'), [])
    if (broken !== undefined) {
      const { skills, quarantined } = await source.load(never, broken)
      t.same(skills.filter(({ name }) => name === broken), [])
      t.ok(quarantined.some(({ name }) => name === broken), 'a broken one that is asked for is named')
    }
  }))
}

async function testBroken (t: TestContext, { good, broken }: SkillSourceHarness, using: Using): Promise<void> {
  await t.test('a broken skill is named, with its place and what is wrong, and the others serve', using(async (t, source) => {
    const { skills, quarantined } = await source.load(never)
    const faults = quarantined.filter(({ name }) => name === broken)
    t.equal(faults.length, 1, `${broken} is in quarantine, once`)
    for (const { path, error } of faults) t.ok(path.length > 0 && error.length > 0, `${path}: ${error}`)
    t.notOk(skills.some(({ name }) => name === broken), 'it does not serve')
    t.ok(skills.some(({ name }) => name === good), 'others do')
  }), broken === undefined ? { skip: 'the harness has no broken skill' } : {})
}

async function testWatching (t: TestContext, { change }: SkillSourceHarness, using: Using): Promise<void> {
  await t.test('a change is told of, and what is loaded then is new; nothing is told of once it is stopped', using(async (t, source) => {
    const before = await source.load(never)
    let changes = 0
    const stop = source.watch?.(() => { changes++ })
    if (stop === undefined || change === undefined) throw new Error('a source whose skills change has a method `watch`')
    t.teardown(stop)
    await change()
    await until(() => changes > 0)
    // It may tell of a part of the change first.
    await until(async () => JSON.stringify(await source.load(never)) !== JSON.stringify(before))
    await stop()
    const stopped = changes
    // A second watcher hears of the change: by then the first would have, too.
    let heard = 0
    const again = source.watch?.(() => { heard++ })
    t.teardown(() => again?.())
    await change()
    await until(() => heard > 0)
    t.equal(changes, stopped)
  }), change === undefined ? { skip: 'the harness changes nothing' } : {})
}

/** Without what is undefined, and in no class: as it goes over a border. */
function plain (loaded: LoadedSkills): unknown {
  return JSON.parse(JSON.stringify({ ...loaded, warnings: loaded.warnings ?? [] }))
}
