import t from 'tap'
import { withClientInput } from '../../../../plugins/mcp/agent/client-input.ts'
import { termsOf, textOf } from '../../../../plugins/mcp/agent/terms.ts'
import type { ParameterDescriptor } from '../../../../kernel/contracts/schemas.ts'

const answers: ParameterDescriptor = {
  name: 'answers', type: 'object', description: 'Answers', required: false, from_client: 'answers'
}
const state: ParameterDescriptor = {
  name: 'kept', type: 'string', description: 'Kept', required: false, from_client: 'state'
}
const plain = { name: 'plain', parameters: [] }
const asking = { name: 'asking', parameters: [answers, state] }

t.test('an output is in the terms of MCP when it is of one shape, and nothing else', async t => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'resource', resource: {} }
  ]
  t.same(termsOf(` ${JSON.stringify({ content })}\n`, plain), { content })
  t.equal(textOf({ content }), 'a\n[image/png]\n[resource]')
  t.same(termsOf('{"messages":[{"role":"user","content":{"type":"text","text":"b"}}]}', plain), {
    messages: [{ role: 'user', content: { type: 'text', text: 'b' } }]
  })
  const inputRequests = { a: { method: 'roots/list' } }
  for (const requestState of [undefined, '']) {
    t.same(
      termsOf(JSON.stringify({ requestState, inputRequests }), asking),
      requestState === undefined ? { inputRequests } : { inputRequests, requestState }
    )
  }
  t.equal(termsOf(JSON.stringify({ inputRequests }), plain), undefined, 'only who can take answers may ask')
  t.equal(termsOf(JSON.stringify({ inputRequests }), { parameters: [state] }), undefined)
  for (const other of [
    { content: [] }, { content: 'a' }, { content: [1] }, { content, more: 1 }, { content, messages: content },
    { content, requestState: 'a' }, { inputRequests: [] }, { inputRequests, requestState: 1 }, { requestState: 'a' },
    { result: { content } }, [content], 'content'
  ]) t.equal(termsOf(JSON.stringify(other), asking), undefined, JSON.stringify(other))
  t.equal(termsOf('{"content": [', asking), undefined)
})

t.test('what is the client\'s is filled in, and refused from who calls', async t => {
  const given = { a: 1 }
  t.same(withClientInput('s', asking, given, { answers: { x: 1 }, state: 'k', capabilities: {} }), {
    a: 1, answers: { x: 1 }, kept: 'k'
  })
  t.same(given, { a: 1 }, 'the call stays as it is')
  t.equal(withClientInput('s', asking, given, {}), given)
  t.equal(withClientInput('s', plain, given, { answers: {} }), given)
  t.throws(
    () => withClientInput('s', asking, { kept: 'forged' }, { state: 'k' }),
    { code: 'INVALID_PARAMETERS', message: /parameters\/kept/ }
  )
})
