import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Tools that do what a protocol must stand: print wherever they can, report, wait, answer at length. */
const script = `
import { existsSync, writeSync } from 'node:fs'
export default {
  description: 'Tools that try a protocol',
  tools: {
    echo: { description: 'Echo a text', parameters: { text: { type: 'string', description: 'The text', required: true } }, run: ({ text }) => text },
    print: { description: 'Print by every way', run () {
      for (const fd of [1, 2]) writeSync(fd, 'printed by descriptor\\\\n')
      try { writeSync(3, 'printed where a protocol may be\\\\n') } catch {}
      console.log('printed'); process.stdout.write('written\\\\n')
      return 'returned'
    } },
    report: { description: 'Report progress and lines, and end when a file is there', parameters: { file: { type: 'string', description: 'The file', required: true } }, async run ({ file }, { progress, log }) {
      for (const done of [0, 50, 20, 100]) progress(done, 100, 'at ' + done)
      log('info', 'a line'); log('debug', 'a detail')
      while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 10))
      return 'reported'
    } },
    wait: { description: 'Wait until told to end', parameters: { for_ms: { type: 'integer', description: 'At most this long', default: 600000 } }, timeout_ms: 600000, run: ({ for_ms }, { signal }) => new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve('waited'), for_ms)
      signal.addEventListener('abort', () => { clearTimeout(timer); reject(new Error('told')) })
    }) },
    long: { description: 'Answer at length', parameters: { lines: { type: 'integer', description: 'How many lines', required: true } }, run: ({ lines }) => Array.from({ length: lines }, (_, i) => 'line ' + i).join('\\\\n') },
    json: { description: 'Answer with JSON', run: () => ({ people: [{ name: 'Ann', age: 7 }, { name: 'Bob', age: 9 }] }) },
    picture: { description: 'Answer with an image', run: () => ({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] }) },
    fail: { description: 'Fail', run () { throw new Error('out of luck') } }
  }
}`.replaceAll('\\\\n', '\\n')

const native = `
description = "Commands that try a protocol"

[[tools]]
name = "descriptors"
description = "Print what descriptors a command has"
command = ["sh", "-c", "echo out; ls -l /proc/self/fd; for fd in 3 4 5 6 7 8 9; do (echo intruder >&$fd) 2>/dev/null && echo wrote to $fd; done; for fd in /proc/self/fd/1?; do [ -e $fd ] && echo wrote to $fd && echo intruder > $fd; done; exit 0"]

[[tools]]
name = "sleep"
description = "Sleep"
command = ["sleep", "{{seconds}}"]
timeout_ms = 600000
[[tools.parameters]]
name = "seconds"
type = "number"
description = "How long"
required = true
`

/** Writes those skills into a directory of skills: `trial` and `command`. */
export async function writeMcpSkills (directory: string): Promise<void> {
  for (const [name, file, text] of [['trial', 'skill.js', script], ['command', 'skill.toml', native]] as const) {
    await mkdir(join(directory, name), { recursive: true })
    await writeFile(join(directory, name, file), text)
  }
  await mkdir(join(directory, 'trial', 'references'))
  await writeFile(join(directory, 'trial', 'references', 'guide.md'), '# Guide\n')
  await symlink('/etc/hostname', join(directory, 'trial', 'references', 'out'))
}
