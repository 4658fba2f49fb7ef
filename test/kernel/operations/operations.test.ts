import t from 'tap'
import { ERRORS } from '../../../kernel/lib/errors.ts'
import { operations } from '../../../kernel/operations/table.ts'
import { compileCheck } from '../../../kernel/schema/validation.ts'

t.test('each example fits its schemas', async t => {
  for (const { name, input, output, example } of operations) {
    t.equal(compileCheck(input, 'input')(structuredClone(example.input)), undefined, `${name}: input`)
    t.equal(compileCheck(output, 'output')(structuredClone(example.output)), undefined, `${name}: output`)
  }
})

t.test('names and routes are unique, and fit what every transport can show', async t => {
  t.equal(new Set(operations.map(({ name }) => name)).size, operations.length)
  t.equal(new Set(operations.map(({ route }) => route)).size, operations.length)
  for (const { name, effect, errors, input, route } of operations) {
    t.match(name, /^[a-z]+(_[a-z]+)*$/)
    t.ok(errors.every(code => code in ERRORS), `${name}: codes`)
    for (const [, placeholder = ''] of route.matchAll(/\{(\w+)\}/g)) {
      t.ok(placeholder in input.properties, `${name}: {${placeholder}} is a field of its input`)
    }
    if (route.startsWith('GET ')) t.equal(effect, 'read', `${name}: a GET changes nothing`)
  }
})

t.test('the table serves every endpoint of the specification', async t => {
  const routes = operations.map(({ route }) => route)
  for (const route of [
    'GET /api/skills', 'GET /api/skills/{name}', 'POST /api/execute', 'GET /api/executions', 'GET /api/executions/{id}',
    'POST /api/search', 'GET /api/health', 'GET /api/version'
  ]) {
    t.ok(routes.some(candidate => candidate === route), route)
  }
})
