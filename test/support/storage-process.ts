/**
 * A process of its own that uses an LMDB store: `node storage-process.js MODE DATA_DIR [COUNT]`, or `open DATA_DIR…` or
 * `use DATA_DIR…`. It answers on standard output.
 */
import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { messageOf, SkilletError } from '../../kernel/index.ts'
import lmdb from '../../plugins/storage-lmdb/index.ts'
import { makeStored } from '../../plugins/testing/executions.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { until } from '../../plugins/testing/until.ts'

const [mode = '', data_dir = '', count = '0'] = process.argv.slice(2)
const say = (text: string): void => { writeSync(1, `${text}\n`) }

/** Opens stores, one after the other, and reads of them; says the error when it can't. */
async function open (): Promise<void> {
  for (const data_dir of process.argv.slice(3)) {
    try {
      const { service, close } = await openPlugin(lmdb, { data_dir })
      const { total } = await service.list({ limit: 500, offset: 0 })
      await close()
      say(`opened ${total}`)
    } catch (error) {
      say(`refused ${messageOf(error)}`)
    }
  }
}

/** Opens stores, reads all records of each, and writes; says a digest of what was read, or the error. */
async function use (): Promise<void> {
  for (const data_dir of process.argv.slice(3)) {
    try {
      const { service, close } =
        await openPlugin(lmdb, { data_dir, config: { storage: { history_executions_max: 400 } } })
      const { executions } = await service.list({ limit: 500, offset: 0 })
      const digest = createHash('sha256')
      for (const { id } of executions) {
        const found = (await service.get(id))?.execution
        digest.update(`${found?.id} ${found?.status} ${found?.created_at}\n`) // texts have no checksum in the file
      }
      for (let i = 0; i < 200; i++) {
        service.save(makeStored({ output: `${i} `.repeat(i % 10 === 0 ? 2_000 : 1) }))
        if (i % 40 === 0) await service.commit()
      }
      await service.commit()
      await close()
      say(`used ${digest.digest('hex')}`)
    } catch (error) {
      say(`refused ${messageOf(error)}`)
    }
  }
}

/** Saves so many executions, one after the other, and says the id of each when it is committed. */
async function write (): Promise<void> {
  const { service, close } = await openPlugin(lmdb, { data_dir })
  for (let i = 0; i < Number(count); i++) {
    const stored = makeStored({ output: `${i} `.repeat(i % 10 === 0 ? 2_000 : 1) })
    service.save(stored)
    await service.commit()
    say(stored.execution.id)
  }
  await close()
}

/** Saves so many executions, some at a time, and says `done`. */
async function burst (): Promise<void> {
  const { service, close } = await openPlugin(lmdb, { data_dir })
  for (let i = 0; i < Number(count); i++) {
    service.save(makeStored({ skill_name: `of-${process.pid}`, tool_name: `tool-${i % 7}` }))
    if (i % 10 === 9) await service.commit()
  }
  await close()
  say('done')
}

/** Writes until the disk is full, says `full`, and `well` when all is committed after there is room again. */
async function full (): Promise<void> {
  const { service, degraded, close } = await openPlugin(lmdb, { data_dir })
  const ids: string[] = []
  for (let failure: unknown; failure === undefined;) {
    const stored = makeStored({ output: 'x'.repeat(100_000) })
    ids.push(stored.execution.id)
    service.save(stored)
    failure = await service.commit().then(() => undefined, (error: unknown) => error)
    if (failure !== undefined) say(`failed ${messageOf(failure)}`)
  }
  const later = makeStored()
  ids.push(later.execution.id)
  service.save(later)
  const seen = await Promise.all(ids.map(id => service.get(id)))
  const { total } = await service.list({ limit: 1, offset: 0 })
  let admitted = 'ADMITTED'
  try {
    service.admit()
  } catch (error) {
    admitted = error instanceof SkilletError ? error.code : messageOf(error)
  }
  say(`full ${degraded()} ${seen.every(stored => stored !== undefined)} ${ids.length - total} ${admitted}`)
  await until(() => degraded() === undefined)
  service.admit()
  await service.commit()
  await close()
  say(`well ${ids.length}`)
}

process.on('unhandledRejection', reason => {
  say(`unhandled ${messageOf(reason)}`)
  process.exitCode = 1
})
const modes = new Map([['open', open], ['use', use], ['write', write], ['burst', burst], ['full', full]])
await modes.get(mode)?.()
