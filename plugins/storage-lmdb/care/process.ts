/**
 * A process for work on files that may be damaged: `node process.js TASK ARGUMENT…`. It prints its answer as JSON,
 * and may end by a signal instead.
 */
import { messageOf } from '../../../kernel/index.ts'
import { copyEnvironment, readThrough } from '../environment.ts'
import { checkWhole } from '../file/check.ts'
import { Damage } from '../file/reader.ts'
import { salvage } from '../file/salvage.ts'
import type { Said, Tasks } from './child.ts'
import { detach } from './detach.ts'

const tasks: { [Name in keyof Tasks]: (...args: Parameters<Tasks[Name]>) => Promise<ReturnType<Tasks[Name]>> } = {
  async check (file) {
    const sound = await checkWhole(file)
    if (sound.format > 0) await readThrough(file)
    return sound
  },
  async copy (file, to) {
    await copyEnvironment(file, to)
    return null
  },
  async detach (file) {
    await detach(file)
    return null
  },
  salvage
}

async function answer (name: string, [file = '', to = '']: readonly string[]): Promise<Said> {
  try {
    switch (name) {
      case 'check': case 'detach': return { done: await tasks[name](file) }
      case 'copy': case 'salvage': return { done: await tasks[name](file, to) }
      default: return { failure: `there is no task "${name}"` }
    }
  } catch (error) {
    return error instanceof Damage ? { damage: error.message } : { failure: messageOf(error) }
  }
}

process.umask(0o077)
const [name = '', ...args] = process.argv.slice(2)
process.stdout.write(`${JSON.stringify(await answer(name, args))}\n`)
