import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeHome, skillet } from '../support/program.ts'

/** Each tool starts a program in another way, which lists the files that it was passed on. */
const skill = `
import { execFileSync, spawn } from 'node:child_process'
const list = ['-l', '/proc/self/fd']
const collect = child => new Promise((resolve, reject) => {
  let text = ''
  child.stdout.on('data', piece => { text += piece })
  child.on('error', reject).on('close', () => resolve(text))
})
const own = () => execFileSync('ls', ['-l', '/proc/' + process.pid + '/fd'], { encoding: 'utf8' })
export default {
  description: 'Lists descriptors',
  tools: {
    own: { description: 'Of the server', run: own },
    sync: { description: 'Of a program that it waits for', run: () => execFileSync('ls', list, { encoding: 'utf8' }) },
    later: { description: 'Of a program that runs beside it', run: () => collect(spawn('ls', list)) },
    shell: { description: 'Of a program that a shell starts', run: () => collect(spawn('ls -l /proc/self/fd | cat', { shell: true })) }
  }
}`

t.test('a program that a script tool starts has no descriptor of the store', {
  skip: process.platform !== 'linux' && 'needs /proc'
}, async t => {
  const home = await makeHome()
  t.teardown(() => home.remove())
  await mkdir(join(home.skills, 'descriptors'), { recursive: true })
  await writeFile(join(home.skills, 'descriptors', 'skill.js'), skill)
  const files = async (tool: string): Promise<string[]> => {
    const { status, stdout, stderr } = await skillet(home, ['run', `descriptors:${tool}`])
    t.equal(status, 0, stderr)
    return stdout.split('\n').filter(line => line.includes(home.data_dir))
  }
  t.ok((await files('own')).length >= 3, 'the server itself has its files open')
  for (const tool of ['sync', 'later', 'shell']) t.strictSame(await files(tool), [], tool)
})
