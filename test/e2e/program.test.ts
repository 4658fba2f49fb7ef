import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'
import t from 'tap'
import { node, program } from '../support/program.ts'

const chunks = join(dirname(program), 'chunks')

t.test('V8 takes over the code that the build kept of what every command needs', {
  skip: node === process.execPath ? false : 'another Node runs the program than built it'
}, async t => {
  const kept = (await readdir(chunks)).filter(name => name.endsWith('.code')).map(name => name.replace(/\.code$/, ''))
  for (const part of [
    'main', 'cli', 'run', 'list', 'storage-lmdb', 'executor-worker', 'executor-native', 'skills-directory'
  ]) {
    t.ok(kept.some(name => name.startsWith(part)), part)
  }
  for (const name of kept) {
    const file = join(chunks, name)
    const script =
      new Script(await readFile(file, 'utf8'), { filename: file, cachedData: await readFile(`${file}.code`) })
    t.equal(script.cachedDataRejected, false, name)
  }
})
