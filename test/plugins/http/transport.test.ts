import t from 'tap'
import { isObject, type JsonObject } from '../../../kernel/index.ts'
import http from '../../../plugins/http/index.ts'
import { forTap, testTransport, type Answer } from '../../../plugins/testing/index.ts'
import { engines } from './support.ts'

const paths: Readonly<Record<string, string>> = { list_skills: '/api/skills' }

for (const engine of engines) {
  t.test(`${engine}: it is a transport`, t => testTransport(forTap(t), {
    plugin: http,
    config: { server: { port: 0 }, plugin: { http: { engine } } },
    connect ({ url = '' }) {
      const gone = new AbortController()
      return {
        async call (operation, input): Promise<Answer> {
          const path = paths[operation]
          const response = await fetch(`${url}${path ?? `/api/${operation}`}`, {
            signal: gone.signal,
            ...(path === undefined
              && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) })
          })
          const output = await response.json() as JsonObject
          const { error } = output
          return isObject(error)
            ? { error: { code: String(error['code']), message: String(error['message']) } }
            : { output }
        },
        close () { gone.abort() }
      }
    }
  }))
}
