// Converts all MCP tools, including every bundled tool, with the libraries that clients for OpenAI's and Google's
// models use, and calls a tool as a model in strict mode does. Prints that it was skipped when PyPI can't be reached.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pythonWith } from './python.mjs'

const folder = mkdtempSync(join(tmpdir(), 'skillet-models-'))
try {
  const bin = pythonWith(folder, ['openai-agents==0.24.0', 'google-genai==3.4.0'])
  if (bin === undefined) console.log('skipped: there is no Python, or PyPI could not be reached')
  else {
    const env = {
      PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config'),
      XDG_DATA_HOME: join(folder, 'data'), OPENAI_AGENTS_DISABLE_TRACING: '1'
    }
    const { status, error } = spawnSync(
      join(bin, 'python'),
      [resolve('scripts/model-schemas.py'), process.execPath, resolve('dist/program/main.js')],
      { cwd: folder, env, stdio: 'inherit' }
    )
    if (status !== 0) throw error ?? new Error(`the conversion ended with ${status}`)
  }
} catch (error) {
  console.error(`model schemas: ${error.message}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
