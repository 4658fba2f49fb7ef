import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  completeConfig, silentLogger, textOf, type Execution, type JsonObject, type Outputs, type StoredExecution
} from '../../../kernel/index.ts'
import { OutputFiles } from '../../../kernel/executions/output-files.ts'
import { heldBytesMax, outputsOf } from '../../../kernel/executions/outputs.ts'
import { makeExecution } from '../../../plugins/testing/executions.ts'

const idOf = (n: number): string => `0000000${n}-0000-7000-8000-000000000000`

interface Opened { files: OutputFiles, records: Map<string, Execution>, folder: string, outputs: Outputs }

/** The files of a kernel whose history has these records, and what reads them. */
async function open (t: Test, config: JsonObject = {}): Promise<Opened> {
  const data_dir = await mkdtemp(join(tmpdir(), 'skillet-outputs-'))
  t.teardown(() => rm(data_dir, { recursive: true, force: true }))
  const records = new Map<string, Execution>()
  const get = async (id: string): Promise<StoredExecution | undefined> => {
    const found = records.get(id)
    return found === undefined ? undefined : { execution: found, owner: null }
  }
  const files = new OutputFiles(completeConfig(config), { get }, data_dir, silentLogger)
  const outputs = outputsOf({ get }, files, { select: async () => ({ text: '1' }) })
  return { files, records, folder: join(data_dir, 'outputs'), outputs }
}

t.test('a large output is a file as it was, and its record has the beginning', async t => {
  const { files, records, folder, outputs } = await open(t, { execution: { output_bytes_max: 1024 } })
  t.notOk(files.overflows('x'.repeat(1024)))
  t.notOk(files.overflows('€'.repeat(341)), '1023 bytes')
  t.ok(files.overflows('€'.repeat(342)))
  // A character of two halves lies at each boundary of the pieces that are written.
  const text = `\ufeff${'😀'.repeat(300_000)}`
  const kept = await files.keep(idOf(1), text)
  const bytes = Buffer.byteLength(text)
  t.match(kept, { bytes })
  t.match(kept.output, new RegExp(`\\n\\[output truncated: \\d+ of ${bytes} bytes kept; all of it: execution://${idOf(1)}/output\\]$`))
  t.ok(text.startsWith(kept.output.slice(0, kept.output.lastIndexOf('\n['))))
  t.equal((await stat(join(folder, idOf(1)))).mode & 0o777, 0o600)
  records.set(idOf(1), makeExecution({ id: idOf(1), output: kept.output, output_file_bytes: bytes }))
  const output = await outputs.open(idOf(1))
  t.ok(await textOf(output) === text)
  t.equal(await textOf(output, { from: 3, to: 11 }), '😀😀')
})

t.test('an output that can\'t be written is cut, and one that is gone is said to be gone', async t => {
  const { files, records, folder, outputs } = await open(t, { execution: { output_bytes_max: 1024 } })
  await writeFile(folder, 'no folder')
  const kept = await files.keep(idOf(1), 'x'.repeat(2000))
  t.same(kept, { output: `${'x'.repeat(1024)}\n[output truncated: 1024 of 2000 bytes kept]` })
  await rm(folder)
  await mkdir(folder)
  await writeFile(join(folder, idOf(2)), 'short')
  await writeFile(join(folder, '..', 'secret'), 'secret')
  for (const id of [idOf(1), idOf(2), '../secret', '..%2fsecret']) { // an imported record can have any id
    records.set(id, makeExecution({ id, output_file_bytes: 6 }))
    await t.rejects(outputs.open(id), { code: 'OUTPUT_NOT_FOUND' }, id)
  }
  records.set('other', makeExecution({ id: 'other', status: 'running' }))
  await t.rejects(outputs.open('other'), { code: 'CONFLICT' })
  await t.rejects(outputs.open('missing'), { code: 'EXECUTION_NOT_FOUND' })
})

t.test('files go with their executions, and the oldest go when all are too large', async t => {
  const config = { execution: { output_bytes_max: 1024 }, storage: { output_files_bytes_max: 5000 } }
  const { files, records, folder } = await open(t, config)
  await files.sweep() // without a folder
  for (const n of [1, 2, 3, 4]) await files.keep(idOf(n), 'x'.repeat(2000))
  await files.sweep() // one of `keep` may have begun before the last file was there
  await files.sweep()
  t.same((await readdir(folder)).toSorted(), [idOf(3), idOf(4)], '4,000 bytes are within 5,000')
  records.set(idOf(4), makeExecution({ id: idOf(4) }))
  await writeFile(join(folder, 'notes'), 'of somebody')
  await files.sweep()
  t.ok((await readdir(folder)).includes(idOf(3)), 'a new file may wait for the commit of its record')
  const yesterday = new Date(Date.now() - 86_400_000)
  for (const n of [3, 4]) await utimes(join(folder, idOf(n)), yesterday, yesterday)
  await files.sweep()
  t.same((await readdir(folder)).toSorted(), [idOf(4), 'notes'], 'its execution was pruned')
})

t.test('what all calls hold is limited', async t => {
  const { outputs } = await open(t)
  const release = outputs.hold(heldBytesMax)
  t.throws(() => outputs.hold(1), { code: 'OVERLOADED' })
  release()
  outputs.hold(1)()
})
