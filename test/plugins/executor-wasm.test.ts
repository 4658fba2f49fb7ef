import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import type { Kernel } from '../../kernel/index.ts'
import { whyNoScriptSandbox } from '../../plugins/executor-worker/confined/probe.ts'
import { confinedProgram } from '../../plugins/toolkit/sandbox/confined-program.ts'
import { fixture, folderFor, manifestOf, openSkills, putSkill, runTool } from '../support/wasm.ts'

process.env['XDG_CONFIG_HOME'] = '/nonexistent'
process.env['WASM_SHOWN'] = 'shown'
process.env['WASM_HIDDEN'] = 'hidden'
t.setTimeout(280_000)

const missing = await whyNoScriptSandbox(confinedProgram())
const noSandbox = missing === undefined ? false : `no sandbox here: ${missing}`
const mebibyte = 1_048_576

interface Opened { kernel: Kernel, open: string, closed: string }

/** A kernel with the command as `core` and as `component`, which may read `open` and write to its folder `out`. */
async function start (t: Test, trusted: boolean): Promise<Opened> {
  const home = await folderFor(t)
  const [skills, open, closed] = [join(home, 'skills'), join(home, 'open'), join(home, 'closed')]
  for (const folder of [skills, join(open, 'out'), closed]) await mkdir(folder, { recursive: true })
  await writeFile(join(open, 'text.txt'), 'open\n')
  await writeFile(join(closed, 'text.txt'), 'closed\n')
  await symlink('text.txt', join(open, 'inside'))
  await symlink('../closed/text.txt', join(open, 'relative'))
  await symlink(join(closed, 'text.txt'), join(open, 'absolute'))
  await symlink('around', join(open, 'around'))
  spawnSync('mkfifo', [join(open, 'pipe')])
  const permissions = `[permissions]\nread = ["${open}", "data"]\nwrite = ["${open}/out"]\nenv = ["WASM_SHOWN"]\n`
  for (const [name, file] of [['core', 'probe.wasm'], ['component', 'probe.component.wasm']] as const) {
    await putSkill(skills, name, manifestOf('probe.wasm', permissions), { 'probe.wasm': fixture(file) })
    await mkdir(join(skills, name, 'data'))
    await writeFile(join(skills, name, 'data', 'text.txt'), 'own\n')
  }
  const kernel = await openSkills(t, skills, { trusted, execution: { heap_bytes_max: 128 * mebibyte, threads: 2 } })
  return { kernel, open, closed }
}

for (const trusted of [true, false]) {
  const where = trusted ? 'in a thread' : 'in the sandbox'
  const isolation = trusted ? 'thread' : 'sandbox'
  const skip = trusted ? false : noSandbox

  for (const kind of ['core', 'component']) {
    t.test(`a command of ${kind === 'core' ? 'preview 1' : 'preview 2'} ${where}`, { skip }, async t => {
      const { kernel, open, closed } = await start(t, trusted)
      const run = async (words: string[], more = {}) => await runTool(kernel, kind, words, more)

      await t.test('is given arguments, input, variables, clocks and random bytes', async t => {
        const said = await run(['args', '-a', 'two words', 'ü'])
        t.match(said, { output: 'probe.wasm\nargs\n-a\ntwo words\nü\n', isolation })
        t.match(await run(['cat', '-'], { input: 'x'.repeat(100_000) }), { output: 'x'.repeat(100_000) })
        t.match((await run(['env'])).output?.split('\n').sort(), ['', 'LEVEL=3', 'WASM_SHOWN=shown'])
        t.match((await run(['clocks'])).output, /^slept random 1[0-9]{9}\n$/)
      })

      await t.test('fails with its exit code and the end of its standard error', async t => {
        // A component can say only whether it failed.
        t.match((await run(['exit', '7'])).error, {
          code: 'TOOL_EXECUTION_FAILED', message: `exited with code ${kind === 'core' ? 7 : 1}: the reason`,
          details: { stderr: 'the reason\n' }
        })
        t.match((await run(['trap'])).error, { message: /trapped: .*unreachable/ })
        t.match((await run(['recurse'])).error, { message: /trapped: / })
        t.match((await run(['raise'])).error, { message: /trapped|exited with code/ })
        t.match(await run(['args']), { output: 'probe.wasm\nargs\n' }, 'others still run')
      })

      await t.test('reaches the declared folders alone', async t => {
        t.match(await run(['cat', `${open}/text.txt`]), { output: 'open\n' })
        t.match(await run(['cat', 'data/text.txt']), { output: 'own\n' }, 'of the skill\'s own folder')
        t.match(await run(['cat', `${open}/inside`]), { output: 'open\n' }, 'a link within the folder is followed')
        const listed = (await run(['list', open])).output?.split('\n')
        t.match(listed, ['.', '..', 'absolute', 'around', 'inside', 'out', 'pipe'])
        for (const path of [
          `${closed}/text.txt`, `${open}/../closed/text.txt`, `${open}/relative`, `${open}/absolute`, `${open}/around`,
          `${open}/out/../../closed/text.txt`, `${open}/pipe`, '/etc/passwd', '/proc/self/environ', 'text.txt'
        ]) {
          const { output, error } = await run(['cat', path])
          t.equal(output, undefined, path)
          t.match(error?.message, /exited with code 1: .*(?:[Pp]ermitted|[Cc]apabilit|No such file|[Ll]oop)/, path)
        }
      })

      await t.test('writes where it is declared alone', async t => {
        t.match(await run(['work', `${open}/out`]), { output: 'done\n' })
        t.same(await readdir(join(open, 'out')), [])
        t.match((await run(['work', open])).error?.message, /Read-only file system/)
        t.match((await run(['remove', `${open}/text.txt`])).error?.message, /Read-only file system/)
        t.equal(await readFile(join(open, 'text.txt'), 'utf8'), 'open\n')
      })

      await t.test('is bounded in memory, time and output', async t => {
        const { output, error } = await run(['grow'])
        t.equal(error, undefined)
        // Its allocator asks for ever larger parts, so it may be given less than the 96 MiB that there are.
        t.ok(Number(output) > 16 && Number(output) <= 96, `${output} MiB were given`)
        t.match((await run(['loop'], { timeout_ms: 400 })).error, { code: 'TIMEOUT' })
        t.match((await run(['sleep'], { timeout_ms: 400 })).error, { code: 'TIMEOUT' })
        t.match((await run(['flood'])).error, { message: /put out more than 16 MiB and was stopped/ })
        t.match(await run(['args']), { output: 'probe.wasm\nargs\n' }, 'others still run')
      })
    })
  }
}
