export { makeExecution, makeStored } from '../../plugins/testing/executions.ts'
