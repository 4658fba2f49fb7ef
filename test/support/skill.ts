export { callOf, skillOf } from '../../plugins/testing/skill.ts'
