// What one would write with the libraries that are at hand: Fastify, Piscina, and better-sqlite3 for the history. It
// validates the request and the tool's parameters, runs the tool in a thread, keeps each execution and serializes by
// schema. Usage: node fastify.mjs FILE NORMAL|FULL: the history's file, and SQLite's `synchronous`. Prints its port.
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import Database from 'better-sqlite3'
import { fastify } from 'fastify'
import { Piscina } from 'piscina'

const [file, synchronous] = process.argv.slice(2)
const database = new Database(file)
database.pragma('journal_mode = WAL')
database.pragma(`synchronous = ${synchronous}`)
database.exec(`CREATE TABLE IF NOT EXISTS executions (
  sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, skill_name TEXT NOT NULL, tool_name TEXT NOT NULL,
  status TEXT NOT NULL, parameters TEXT NOT NULL, output TEXT NOT NULL, created_at TEXT NOT NULL,
  duration_ms INTEGER NOT NULL)`)
const insert = database.prepare(`
  INSERT INTO executions (id, skill_name, tool_name, status, parameters, output, created_at, duration_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)

const threads = availableParallelism()
const pool = new Piscina({
  filename: new URL('./fastify-tool.mjs', import.meta.url).href,
  minThreads: threads, maxThreads: threads, idleTimeout: Infinity, concurrentTasksPerWorker: 16, recordTiming: false
})

const text = { type: 'string' }
const app = fastify()
app.post('/api/execute', {
  schema: {
    body: {
      type: 'object',
      properties: {
        skill_name: { const: 'trivial' }, tool_name: { const: 'echo' },
        parameters: { type: 'object', properties: { text }, required: ['text'], additionalProperties: false }
      },
      required: ['skill_name', 'tool_name', 'parameters'],
      additionalProperties: false
    },
    response: { 200: {
      type: 'object',
      properties: { execution_id: text, status: text, output: text, duration_ms: { type: 'integer' } }
    } }
  }
}, async ({ body }) => {
  const { skill_name, tool_name, parameters } = body
  const created_at = new Date().toISOString()
  const began = performance.now()
  const output = await pool.run(parameters)
  const duration_ms = Math.round(performance.now() - began)
  const execution_id = randomUUID()
  insert.run(
    execution_id, skill_name, tool_name, 'success', JSON.stringify(parameters), output, created_at, duration_ms
  )
  return { execution_id, status: 'success', output, duration_ms }
})
await app.listen({ host: '127.0.0.1', port: 0 })
console.log(app.server.address().port)
