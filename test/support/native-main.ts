// A program that uses the native executor and never closes it.
// `once`: runs one command and has nothing more to do.
// `environment`: prints the environment that commands get, without and with declared variables, and their descriptors.
// `hang FILE`: runs a command that ignores SIGTERM and never ends; the file gets the ids of helper, command and
// grandchild.
import native from '../../plugins/executor-native/index.ts'
import { commandCall, runCall, shellCall, withHelper } from './native.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'

const [mode, file = ''] = process.argv.slice(2)
const { service: executor } = await openPlugin(native, { data_dir: '/', config: withHelper() })
const show = async (call: Parameters<typeof runCall>[1], end = ''): Promise<void> => {
  process.stdout.write((await runCall(executor, call)).output + end)
}

switch (mode) {
  case 'once':
    await show(shellCall('printf done'))
    break
  case 'environment':
    await show(commandCall(['env', '-0']), '\n\0')
    await show(commandCall(['env', '-0'], {}, { env: ['DECLARED', 'HOME', 'ABSENT_ANYWHERE', '__proto__'] }), '\n\0')
    await show(shellCall('ls /proc/$$/fd; exit'))
    break
  case 'hang':
    await show(shellCall('trap "" TERM; sh -c \'trap "" TERM; sleep 100000; :\' & echo "$PPID $$ $!" > "$1"; wait', file))
    break
  default:
    throw new Error(`unknown mode ${mode}`)
}
