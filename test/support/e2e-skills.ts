import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A script skill with tools of every temper. `touch` tells by a line in a file that it ran. */
const temper = `
import { appendFileSync } from 'node:fs'
export default {
  description: 'Tools of every temper',
  tools: {
    echo: { description: 'Echo a text', parameters: { text: { type: 'string', description: 'The text', required: true } }, run: ({ text }) => text },
    touch: { description: 'Add a line to a file', parameters: { file: { type: 'string', description: 'The file', required: true }, line: { type: 'string', description: 'The line', required: true } }, run ({ file, line }) { appendFileSync(file, line + '\\n'); return line } },
    fail: { description: 'Fail', run () { throw new Error('out of luck') } },
    hang: { description: 'Never end', run () { for (;;); } },
    wait: { description: 'Wait until told to end', run (_, { signal }) { return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('told')))) } },
    exit: { description: 'Exit', run () { process.exit(7) } },
    print: { description: 'Print', run () { console.log('printed'); process.stdout.write('written'); return 'returned' } },
    hush: { description: 'Take a secret', parameters: { key: { type: 'string', description: 'The key', required: true, secret: true } }, run: ({ key }) => String(key.length) }
  }
}`

const native = `
description = "Commands of every temper"
runtime = "native"

[[tools]]
name = "sleep"
description = "Sleep"
command = ["sleep", "{{seconds}}"]
[[tools.parameters]]
name = "seconds"
type = "integer"
description = "How long"
required = true
minimum = 0

[[tools]]
name = "missing"
description = "A command that is not there"
command = ["no-such-command-at-all"]

[[tools]]
name = "false"
description = "Fail with a status"
command = ["sh", "-c", "echo why >&2; exit 3"]
`

const drip = `
description = "Put out drop by drop"
[[tools]]
name = "two"
description = "Put out two drops, the second when the file is there"
command = ["sh", "-c", 'printf "one\\n"; while [ ! -e "$1" ]; do sleep 0.02; done; printf two', "sh", "{{file}}"]
[[tools.parameters]]
name = "file"
type = "string"
description = "The file"
required = true
[[tools]]
name = "forever"
description = "Put out drops"
command = ["sh", "-c", "while :; do echo drop; sleep 0.02; done"]
[[tools]]
name = "fail"
description = "Put out a drop, and fail"
command = ["sh", "-c", "echo drop; echo why >&2; exit 3"]
[[tools.parameters]]
name = "colour"
type = "string"
description = "Of the drop"
enum = ["red", "green"]
`

/** A skill of commands that put out drop by drop. */
export async function writeDrip (directory: string): Promise<void> {
  await mkdir(join(directory, 'drip'))
  await writeFile(join(directory, 'drip', 'skill.toml'), drip)
}

/** Writes those skills, and a broken one beside them, into a directory of skills. */
export async function writeSkills (directory: string): Promise<void> {
  for (const [name, file, text] of [
    ['temper', 'skill.js', temper],
    ['command', 'skill.toml', native],
    ['broken', 'skill.toml', 'tools = 5']
  ] as const) {
    await mkdir(join(directory, name), { recursive: true })
    await writeFile(join(directory, name, file), text)
  }
}
