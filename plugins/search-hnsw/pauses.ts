export { pauses } from '../../kernel/index.ts'
