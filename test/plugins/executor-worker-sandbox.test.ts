import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { JsonObject, SkillDefinition } from '../../kernel/index.ts'
import { whyNoScriptSandbox } from '../../plugins/executor-worker/confined/probe.ts'
import plugin from '../../plugins/executor-worker/index.ts'
import { confinedProgram } from '../../plugins/toolkit/sandbox/confined-program.ts'
import { openPlugin } from '../../plugins/testing/open-plugin.ts'
import { callOf } from '../../plugins/testing/skill.ts'
import { testExecutor, type Call } from '../conformance/executor.ts'

const missing = await whyNoScriptSandbox(confinedProgram())
const skip = missing === undefined ? false : `no sandbox here: ${missing}`
t.setTimeout(300_000)

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/executor-worker/${name}.mjs`, import.meta.url))

/** A call of a script by a skill that is not trusted. */
const call = (name: string, parameters: JsonObject = {}, skill: Partial<SkillDefinition> = {}): Call =>
  callOf('script', { name }, parameters, { module: fixture('subject'), trusted: false, ...skill })

if (skip === false) testExecutor('executor-worker in a sandbox', {
  async open (config) {
    const { service: executor, close } = await openPlugin(plugin, {
      config: { ...config, isolation: { mode: 'required' } }
    })
    return { executor, close }
  },
  isolation: 'sandbox',
  calls: {
    echo: text => call('echo', { text }),
    fail: message => call('fail', { message }),
    sleep: ms => call('sleep', { ms }),
    hang: () => call('hang'),
    output: bytes => call('output', { bytes }),
    append: (file, text) => call('append', { file, text }, {
      permissions: { network: false, write: ['{{file}}'], env: [], secrets: [] }
    })
  },
  concurrency: { config: { execution: { threads: 2 } }, limit: 2, hang: call('hang') }
})
