import { parseCommand, type JsonObject, type ParameterDescriptor } from '../../kernel/index.ts'
import native from '../../plugins/executor-native/index.ts'
import { testExecutor, type Call } from '../conformance/executor.ts'
import { openPlugin } from '../support/open-plugin.ts'
import { callOf } from '../support/skill.ts'

/** A call of a command whose placeholders are these parameters, all of them allowed to begin with a dash. */
function call (command: string[], parameters: JsonObject = {}, more: { stdin?: string, cwd?: string, env?: string[] } = {}): Call {
  const { env = [], ...spec } = more
  const descriptors = Object.keys(parameters).map((name): ParameterDescriptor => ({ name, type: 'string', description: name, required: true, allow_dash: true }))
  return callOf('native', { name: 'tool', command: parseCommand({ command, ...spec }, descriptors) }, parameters, { permissions: { network: false, write: [], env } })
}

testExecutor('executor-native', {
  async open (config) {
    const { service: executor, close } = await openPlugin(native, { config })
    return { executor, close }
  },
  isolation: 'process',
  calls: {
    echo: text => call(['printf', '%s', '{{text}}'], { text }),
    fail: message => call(['sh', '-c', 'printf "first line\\n%s\\n" "$1" >&2; exit 3', 'sh', '{{message}}'], { message }),
    sleep: ms => call(['sh', '-c', 'sleep "$1"; printf slept', 'sh', '{{seconds}}'], { seconds: `${ms / 1000}` }),
    hang: () => call(['sleep', '100000']),
    output: bytes => call(['sh', '-c', 'head -c "$1" /dev/zero | tr "\\0" x', 'sh', '{{bytes}}'], { bytes: `${bytes}` }),
    append: (file, text) => call(['sh', '-c', 'printf %s "$1" >> "$2"', 'sh', '{{text}}', '{{file}}'], { text, file })
  },
  concurrency: { config: { execution: { processes: 3 } }, limit: 3, hang: call(['sleep', '100000']) }
})
