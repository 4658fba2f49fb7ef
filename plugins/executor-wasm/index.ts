import { collectedBytesMax, definePlugin } from '../../kernel/index.ts'
import { memoryBytesMax } from '../toolkit/wasm/memory-limit.ts'
import { WasmExecutor } from './executor.ts'

/** Runs commands in WebAssembly, as skills with runtime = "wasm" have them, by the executor of scripts. */
export default definePlugin({
  name: 'executor-wasm',
  slot: 'executor',
  setup: ({ config }) => new WasmExecutor({
    output_bytes_max: collectedBytesMax(config), memory_bytes_max: memoryBytesMax(config.execution.heap_bytes_max)
  })
})
