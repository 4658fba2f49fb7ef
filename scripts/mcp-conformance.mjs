// Runs the official MCP conformance suite against the built server, twice: as it is, and with a fixture skill whose tools are
// exposed as the tools that the suite asks for. Installs the suite into a temporary folder, unless MCP_CONFORMANCE names one
// with a folder for each version. Fails when a scenario fails that should pass; prints what passed.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** By version: what is asked for beside the URL, and what must pass without and with the fixture's tools. */
const suites = {
  '0.1.16': {
    args: ['--suite', 'all'],
    generic: ['server-initialize', 'logging-set-level', 'ping', 'completion-complete', 'tools-list', 'server-sse-polling', 'server-sse-multiple-streams', 'resources-list', 'prompts-list', 'dns-rebinding-protection'],
    exposed: ['tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource', 'tools-call-mixed-content', 'tools-call-with-logging', 'tools-call-error', 'tools-call-with-progress']
  },
  '0.2.0-alpha.12': {
    args: ['--suite', 'all', '--spec-version', '2026-07-28'],
    generic: ['completion-complete', 'tools-list', 'server-sse-multiple-streams', 'resources-list', 'sep-2164-resource-not-found', 'prompts-list', 'dns-rebinding-protection', 'caching', 'http-header-validation'],
    exposed: ['tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource', 'tools-call-mixed-content', 'tools-call-error', 'tools-call-with-progress']
  }
}

const folder = mkdtempSync(join(tmpdir(), 'skillet-conformance-'))
try {
  for (const [version, { args, generic, exposed }] of Object.entries(suites)) {
    const program = install(version)
    for (const withTools of [false, true]) {
      const server = await serve(withTools ? ['--skills', resolve('test/fixtures/mcp-conformance'), '--mcp-expose', 'test'] : [])
      try {
        const results = runSuite(program, [...args, '--url', `${server.url}/mcp`])
        const required = withTools ? [...generic, ...exposed] : generic
        const failed = required.filter(name => results.get(name) !== true)
        const passed = [...results.values()].filter(Boolean).length
        console.log(`${version} ${withTools ? 'with exposed tools' : 'as it is'}: ${passed} of ${results.size} scenarios passed; ${required.length - failed.length} of the ${required.length} required`)
        console.log(`  did not pass: ${[...results].filter(([, ok]) => !ok).map(([name]) => name).join(', ')}`)
        if (failed.length > 0) throw new Error(`these must pass and did not: ${failed.join(', ')}`)
      } finally {
        server.child.kill('SIGKILL')
      }
    }
  }
} catch (error) {
  console.error(`conformance: ${error.message}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** @returns the suite's program, which runs on Node 20 too: that lacks a function of `fs` that only other commands of it use */
function install (version) {
  const home = process.env.MCP_CONFORMANCE === undefined ? join(folder, version) : join(process.env.MCP_CONFORMANCE, version)
  if (process.env.MCP_CONFORMANCE === undefined) {
    mkdirSync(home)
    const { status } = spawnSync('npm', ['install', '--prefix', home, '--no-save', '--no-audit', '--no-fund', '--loglevel=error', `@modelcontextprotocol/conformance@${version}`], { stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new Error(`version ${version} could not be installed`)
  }
  const program = join(home, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  writeFileSync(program, readFileSync(program, 'utf8').replace(/globSync as \w+,/, ''))
  return program
}

/** A server with a home of its own. */
async function serve (args) {
  const home = mkdtempSync(join(folder, 'home-'))
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: join(home, 'data') }
  const child = spawn(process.execPath, [resolve('dist/program/main.js'), 'serve', '--port', '0', '--json', '--log-level', 'warn', '--server-rate-limit-per-minute', '0', '--server-rate-limit-per-hour', '0', ...args], { cwd: home, env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of child.stdout) return { child, url: JSON.parse(String(line)).url }
  throw new Error('the server did not start')
}

/** @returns by scenario, whether it passed */
function runSuite (program, args) {
  const { stdout, error } = spawnSync(process.execPath, [program, 'server', ...args], { cwd: folder, encoding: 'utf8', timeout: 280_000, maxBuffer: 64 * 1_048_576 })
  if (error !== undefined) throw error
  const summary = stdout.slice(stdout.lastIndexOf('=== SUMMARY ==='))
  const results = new Map([...summary.matchAll(/^([✓✗]) ([\w-]+): /gm)].map(([, mark, name]) => [name, mark === '✓']))
  if (results.size === 0) throw new Error(`the suite gave no summary: ${stdout.slice(-1_000)}`)
  return results
}
