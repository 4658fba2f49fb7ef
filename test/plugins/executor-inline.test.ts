import { appendFileSync } from 'node:fs'
import t from 'tap'
import type { Executor, JsonObject, TaskObserver } from '../../kernel/index.ts'
import { inlineExecutor, type InlineTool } from '../../plugins/executor-inline/index.ts'
import { testExecutor, type Call, type ExecutorHarness } from '../conformance/executor.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'

const tools: Record<string, InlineTool> = {
  'subject:echo': ({ text }) => text,
  'subject:fail': ({ message }) => { throw new Error(String(message)) },
  'subject:sleep': async ({ ms }) =>
    await new Promise(resolve => { setTimeout(() => { resolve('slept') }, Number(ms)) }),
  'subject:hang': async () => await new Promise(() => {}),
  'subject:output': ({ bytes }) => 'x'.repeat(Number(bytes)),
  'subject:append': ({ file, text }) => { appendFileSync(String(file), String(text)) },
  'subject:json': () => ({ a: [1, null] }),
  'subject:told': async (_, { signal, progress, log, execution_id }) => {
    progress(1, 2, 'half')
    log('warn', execution_id)
    await new Promise(resolve => { signal.addEventListener('abort', resolve, { once: true }) })
    log('info', 'after the end')
  }
}

const call = (name: string, parameters: JsonObject = {}): Call => callOf('inline', { name }, parameters)

const open: ExecutorHarness['open'] = async config => {
  const { service: executor, close } = await openPlugin(inlineExecutor({ tools, concurrency: 4 }), { config })
  return { executor, close }
}

testExecutor('executor-inline', {
  open,
  isolation: 'none',
  calls: {
    echo: text => call('echo', { text }),
    fail: message => call('fail', { message }),
    sleep: ms => call('sleep', { ms }),
    hang: () => call('hang'),
    output: bytes => call('output', { bytes }),
    append: (file, text) => call('append', { file, text })
  },
  concurrency: { config: {}, limit: 4, hang: call('hang') }
})

t.test('a value that is no string is JSON, and no value is an empty output', async t => {
  const { executor, close } = await open({})
  t.teardown(close)
  const task = (name: string): Parameters<Executor['run']>[0] =>
    ({ ...call(name), execution_id: 'x', timeout_ms: 1000, config: {} })
  const observer: TaskObserver = { started () {}, progress () {}, log () {} }
  t.match(await executor.run(task('json'), observer, new AbortController().signal), {
    status: 'success',
    output: '{"a":[1,null]}'
  })
  t.match(
    await executor.run(
      { ...task('append'), parameters: { file: `${t.testdir()}/f`, text: '' } }, observer, new AbortController().signal
    ),
    { status: 'success', output: '' }
  )
  t.match(await executor.run(task('toString'), observer, new AbortController().signal), {
    status: 'failed',
    error: { message: 'subject:toString has no function' }
  })
})

t.test('a tool reports progress and logs while it runs, is told of its end, and is not heard after it', async t => {
  const { executor, close } = await open({})
  t.teardown(close)
  const heard: unknown[] = []
  const abort = new AbortController()
  const outcome = executor.run({ ...call('told'), execution_id: 'id-1', timeout_ms: 60_000, config: {} }, {
    started: isolation => { heard.push(isolation) },
    progress: (...args) => { heard.push(args) },
    log: (...args) => { heard.push(args) }
  }, abort.signal)
  await new Promise(setImmediate)
  abort.abort()
  t.equal((await outcome).status, 'cancelled')
  await new Promise(setImmediate)
  t.same(heard, ['none', [1, 2, 'half'], ['warn', 'id-1']])
})
