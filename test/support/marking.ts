import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeHome, type Home } from './program.ts'

const script = `
import { appendFileSync } from 'node:fs'
const parameters = { call: { type: 'string', description: 'Which call', required: true }, file: { type: 'string', description: 'Where it leaves its mark', required: true } }
const tool = work => ({ description: 'A tool', parameters, async run ({ call, file }) {
  appendFileSync(file, call + '\\n')
  await work()
  return call
} })
const wait = ms => () => new Promise(resolve => { setTimeout(resolve, ms) })
export default { description: 'Tools that leave a mark', tools: {
  fast: tool(() => {}), slow: tool(wait(15)), long: tool(wait(1_000)), busy: tool(() => { for (const end = Date.now() + 25; Date.now() < end;); })
} }`

/** A home with the skill `marking`, whose tools add a line with the name of their call to the file `marks`. */
export async function makeMarkingHome (): Promise<{ home: Home, marks: string }> {
  const home = await makeHome()
  await mkdir(join(home.skills, 'marking'), { recursive: true })
  await writeFile(join(home.skills, 'marking', 'skill.mjs'), script)
  const marks = join(home.folder, 'marks')
  await appendFile(marks, '')
  return { home, marks }
}
