import { EventEmitter } from 'node:events'
import { renameSync, statSync, writeFileSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { hashKey, silentLogger, type KeySettings } from '../../../kernel/index.ts'
import { watchKeys } from '../../../plugins/http/access/key-watch.ts'
import { until } from '../../../plugins/testing/until.ts'

t.test('a file that is written in place takes no key away while it is empty', async t => {
  const file = join(t.testdir(), 'skillet.toml')
  const text = (name: string): string => `[server.keys.${name}]\nhash = "${hashKey(name)}"\n`
  writeFileSync(file, text('first'))
  const replaced: string[][] = []
  const keys = { size: 0, replace (named: Record<string, KeySettings>) { replaced.push(Object.keys(named)) } }
  const looks = new EventEmitter()
  const watch = {
    watchFile: (_path: unknown, _options: unknown, changed: (now: Stats, before: Stats) => void) =>
      looks.on('change', changed),
    unwatchFile: (_path: unknown, changed: (now: Stats, before: Stats) => void) => { looks.off('change', changed) }
  }
  const stop = watchKeys(file, keys, silentLogger, watch as unknown as NonNullable<Parameters<typeof watchKeys>[3]>)
  t.same(replaced, [['first']])
  const before = statSync(file)
  writeFileSync(file, '')
  looks.emit('change', statSync(file), before)
  await setTimeout(500) // its writer is slow
  writeFileSync(file, text('second'))
  await until(() => replaced.length > 1)
  t.same(replaced, [['first'], ['second']])

  const old = statSync(file)
  writeFileSync(`${file}.new`, text('third'))
  renameSync(`${file}.new`, file)
  looks.emit('change', statSync(file), old)
  await until(() => replaced.length > 2)
  t.same(replaced.at(-1), ['third'], 'a file that replaces another is whole, and is read at once')
  looks.emit('change', statSync(file), before)
  stop()
  t.equal(looks.listenerCount('change'), 0)
})
