import { collectedBytesMax, definePlugin } from '../../kernel/index.ts'
import { HttpExecutor } from './executor.ts'
import { declared } from './settings.ts'

/** Runs the operations of web APIs, as skills with runtime = "http" have them. */
export default definePlugin({
  ...declared,
  slot: 'executor',
  setup ({ config, scope }, { requests, body_bytes_max }) {
    const executor = new HttpExecutor({ requests, body_bytes_max, output_bytes_max: collectedBytesMax(config) })
    scope.defer(() => { executor.close() })
    return executor
  }
})
