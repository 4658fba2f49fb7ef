// Converts all tools that MCP shows, with every bundled tool shown as a tool of its own, by what clients for OpenAI's
// and Google's models convert them with, and calls one as a model in strict mode does. Says that it was skipped where
// PyPI can't be reached.
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
