import t from 'tap'
import { abortSignalOf, Canceller } from '../../../kernel/index.ts'

t.test('a canceller tells each listener once, and not those that left or came too late', async t => {
  const canceller = new Canceller()
  const heard: string[] = []
  const gone = (): void => { heard.push('gone') }
  canceller.addEventListener('abort', () => { heard.push('first') })
  canceller.addEventListener('abort', gone)
  canceller.addEventListener('abort', () => { heard.push(`second ${canceller.aborted}`) })
  canceller.removeEventListener('abort', gone)
  t.notOk(canceller.aborted)
  canceller.abort()
  canceller.abort()
  canceller.addEventListener('abort', () => { heard.push('late') })
  t.same(heard, ['first', 'second true'])
})

t.test('who needs an AbortSignal has one that follows', async t => {
  const canceller = new Canceller()
  const signal = abortSignalOf(canceller)
  t.notOk(signal.aborted)
  canceller.abort()
  t.ok(signal.aborted && abortSignalOf(canceller).aborted)
  const { signal: own } = new AbortController()
  t.equal(abortSignalOf(own), own, 'one that is one already is itself')
})
