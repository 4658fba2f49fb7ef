import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { fits } from '../../plugins/testing/fits.ts'

const testing = new URL('../../plugins/testing/index.js', import.meta.url).href
const memory = new URL('../../plugins/storage-memory/index.js', import.meta.url).href

t.test('a pattern fits what it describes, and no more', async t => {
  for (const [actual, pattern] of [
    ['one two', /two$/], ['one two', 'e t'], [5, 5], [Number.NaN, Number.NaN], [null, null], [undefined, undefined],
    [[1, { a: 2, b: 3 }], [1, { a: 2 }]],
    [{ a: 'x', b: 1 }, { a: 'x' }],
    [Object.assign(new Error('it broke'), { code: 'E' }), { code: 'E', message: /broke/ }]
  ]) t.ok(fits(actual, pattern), String(pattern))
  for (const [actual, pattern] of [
    ['one', /two/], ['one', 'two'], [5, '5'], ['5', 5], [5, /5/], [undefined, 'undefined'], [[1], [1, 2]],
    [[1, 2], [1]], [{ a: 1 }, [1]], [{}, { a: 1 }], [null, {}], [0, -0], ['text', { length: 4 }]
  ]) t.notOk(fits(actual, pattern), String(pattern))
})

t.test('a suite runs in node:test, and says what a plugin does wrong', async t => {
  const folder = t.testdir({})
  const run = async (name: string, service: string): Promise<{ status: number, output: string }> => {
    const file = join(folder, `${name}.test.mjs`)
    await writeFile(file, `
      import { test } from 'node:test'
      import { forNode, openPlugin, testStorage } from ${JSON.stringify(testing)}
      import plugin from ${JSON.stringify(memory)}
      test('it is a storage', t => testStorage(forNode(t), {
        async open (section = {}) {
          const opened = await openPlugin(plugin, { config: { storage: section } })
          const storage = opened.service
          return { ...opened, service: ${service} }
        }
      }))
    `)
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([key]) => !/^(TAP|NODE_OPTIONS|NODE_TEST)/.test(key))
    )
    return await new Promise(resolve => {
      const child = execFile(
        process.execPath,
        ['--test', '--test-reporter=tap', file],
        { env, cwd: fileURLToPath(new URL('.', import.meta.url)), maxBuffer: 2 ** 26 },
        (_error, stdout, stderr) => {
          resolve({ status: child.exitCode ?? -1, output: stdout + stderr })
        }
      )
    })
  }
  const right = await run('right', 'storage')
  t.match(right, { status: 0, output: /# fail 0/ })
  t.match(right.output, /ok \d+ - it answers as an array would, with 7 executions at most/)
  const wrong = await run('wrong', 'new Proxy(storage, { get: (_, key) => key === "cancelRequests" ? () => [] : typeof storage[key] === "function" ? storage[key].bind(storage) : storage[key] })')
  t.equal(wrong.status, 1)
  t.match(wrong.output, /not ok \d+ - a request to cancel is kept until the execution ends/)
  t.match(wrong.output, /\n {4}ok \d+ - odd values survive/, 'what is right passes')
})
