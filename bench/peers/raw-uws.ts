/**
 * The least that a server on uWebSockets.js can do, in a process of its own: it parses and validates a POST's JSON with
 * ajv and answers with a constant, and answers a GET with a constant. Prints its port.
 * Usage: node raw-uws.js [FILE]: what a GET is answered with.
 */
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'

/** Of the two packages, the one that the server takes here too. */
const { App, us_socket_local_port } = await import('uWebSockets.js')
  .catch(async () =>
    await import('@btc-vision/uwebsockets.js') as unknown as typeof import('uWebSockets.js')) // the same addon

const validate = new Ajv().compile({
  type: 'object',
  properties: { skill_name: { type: 'string' }, tool_name: { type: 'string' }, parameters: { type: 'object' } },
  required: ['skill_name', 'tool_name', 'parameters'],
  additionalProperties: false
})
const reply = JSON.stringify({
  execution_id: '01980a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b', status: 'success', output: 'hello', duration_ms: 0
})
const [file] = process.argv.slice(2)
const page = file === undefined ? reply : readFileSync(file)

App()
  .get('/*', response => { response.writeHeader('Content-Type', 'application/json').end(page) })
  .post('/*', response => {
    let begun: Buffer | undefined
    response.onAborted(() => {})
    response.onData((bytes, last) => {
      const chunk = Buffer.from(bytes)
      // Its memory is the addon's: what is kept beyond this call is copied.
      if (!last) begun = begun === undefined ? Buffer.from(chunk) : Buffer.concat([begun, chunk])
      else {
        const body = begun === undefined ? chunk : Buffer.concat([begun, chunk])
        const valid = validate(JSON.parse(body.toString()))
        response.cork(() => {
          response.writeStatus(valid ? '200 OK' : '400 Bad Request')
            .writeHeader('Content-Type', 'application/json')
            .end(reply)
        })
      }
    })
  })
  .listen('127.0.0.1', 0, socket => {
    if (socket === false) throw new Error('no port')
    console.log(us_socket_local_port(socket))
  })
