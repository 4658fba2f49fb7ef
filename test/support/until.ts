export { until } from '../../plugins/testing/until.ts'
