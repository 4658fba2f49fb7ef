import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../kernel/index.ts'
import { startBundled } from '../support/bundled.ts'
import { loadSkills } from '../support/load-skills.ts'
import { startWebServer } from '../support/web-server.ts'

/** Every tool of every bundled skill has an example in its skill's SKILL.md, and every example there runs. */

// What the examples read: the working directory of the kernel.
const folder = t.testdir({
  'notes.md': '# Notes\n\nBuy milk. TODO: pay rent.\n',
  src: { 'main.js': 'console.log("hello") // TODO\n', 'util.js': 'export {}\n' }
})
process.chdir(folder)
mkdirSync(join(folder, 'repository'))
const git = (...args: string[]): void => {
  execFileSync('git', ['-C', 'repository', '-c', 'user.name=A', '-c', 'user.email=a@b.example', ...args], {
    stdio: 'ignore'
  })
}
git('init', '-b', 'main')
writeFileSync('repository/README.md', '# Hello\n')
git('add', '.')
git('commit', '-m', 'First')
execFileSync('sqlite3', ['shop.db', 'CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL); INSERT INTO orders VALUES (1, \'Ada\', 9.5), (2, \'Alan\', 20);'])

// Stands in for https://example.com in the examples.
const site = await startWebServer((request, response) => {
  if (request.url === '/old') response.writeHead(301, { location: '/data.json' }).end()
  else response.setHeader('content-type', 'application/json').end('{"name": "Ada"}')
})
const { call, close } = await startBundled({ http: { allow: [site.host] }, web: { allow: [site.host] } })
t.teardown(async () => {
  site.close()
  await close()
})

const { skills, quarantined } = await loadSkills([], true)

t.test('there are at least ten skills and forty tools, and no skill is broken', async t => {
  t.same(quarantined, [])
  t.ok(skills.length >= 10, `${skills.length} skills`)
  t.ok(skills.flatMap(skill => skill.tools).length >= 40, `${skills.flatMap(skill => skill.tools).length} tools`)
})

for (const skill of skills) {
  t.test(skill.name, async t => {
    const examples = [
      ...(skill.instructions ?? '').matchAll(/```json ([\w.-]+)\n([\s\S]*?)\n```(?:\n```result\n([\s\S]*?)\n```)?/g)
    ]
    t.same(
      new Set(examples.map(([, tool]) => tool)), new Set(skill.tools.map(tool => tool.name)), 'an example for each tool'
    )
    for (const [, tool = '', parameters = '', expected] of examples) {
      const output =
        await call(skill.name, tool, JSON.parse(parameters.replaceAll('https://example.com', site.url)) as JsonObject)
      if (expected === undefined) t.not(output.trim(), '', tool)
      else t.equal(output.trim(), expected.trim(), tool)
    }
  })
  t.test(`${skill.name}: descriptions`, async t => {
    t.ok(skill.version !== undefined && skill.description.length >= 40)
    for (const tool of skill.tools) {
      t.ok(tool.description.length >= 40, `${tool.name}: a sentence that can be searched for`)
      for (const { name, description } of tool.parameters) t.ok(description.length >= 4, `${tool.name}: ${name}`)
    }
  })
}
