// Runs the official MCP conformance suites against the built server, each twice: with the default configuration, and
// with fixture skills that provide the tools, prompts and resources that the suites request by name. Installs the
// suites into a temporary folder, unless MCP_CONFORMANCE names a folder with a folder for each version. The scenarios
// that fail must be exactly those that are expected here.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startServer, withoutLimits } from './server.mjs'

/**
 * The versions of the suite with their arguments: they run all scenarios, or those that a revision of the protocol
 * requires.
 */
const suites = [
  { version: '0.1.16', args: ['--suite', 'all'] },
  { version: '0.2.0-alpha.12', args: ['--suite', 'all', '--spec-version', '2026-07-28'] },
  { version: '0.2.0-alpha.12', args: ['--requirements', '2025-11-25'] },
  // The scenarios of the extensions `skills` and `tasks`, which no suite includes.
  ...[
    'sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'tasks-lifecycle', 'tasks-capability-negotiation',
    'tasks-wire-fields', 'tasks-request-state-removal', 'tasks-mrtr-input', 'tasks-request-headers',
    'tasks-dispatch-and-envelope', 'tasks-status-notifications', 'tasks-required-task-error', 'tasks-mrtr-composition'
  ].map(scenario => ({ version: '0.2.0-alpha.12', args: ['--scenario', scenario] }))
]

/**
 * Scenarios that request tools, prompts or resources by names that only a server for this suite has. They fail without
 * the fixtures.
 */
const named = [
  'tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource',
  'tools-call-mixed-content', 'tools-call-with-logging', 'tools-call-error', 'tools-call-with-progress',
  'tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums',
  'json-schema-2020-12', 'server-stateless', 'http-custom-header-server-validation',
  'resources-read-text', 'resources-read-binary', 'resources-templates-read', 'prompts-get-simple',
  'prompts-get-with-args', 'prompts-get-embedded-resource', 'prompts-get-with-image',
  ...[
    'basic-elicitation', 'basic-sampling', 'basic-list-roots', 'request-state', 'multiple-input-requests',
    'multi-round', 'non-tool-request', 'result-type', 'tampered-state', 'capability-check'
  ].map(name => `input-required-result-${name}`),
  ...[
    'lifecycle', 'capability-negotiation', 'wire-fields', 'request-state-removal', 'mrtr-input', 'request-headers',
    'dispatch-and-envelope', 'required-task-error', 'mrtr-composition'
  ].map(name => `tasks-${name}`)
]

const fixtures = resolve('test/fixtures/mcp-conformance')
const folder = mkdtempSync(join(tmpdir(), 'skillet-conformance-'))
let wrong = 0
try {
  const programs =
    new Map([...new Set(suites.map(({ version }) => version))].map(version => [version, install(version)]))
  for (const [how, serverArgs, expected] of [
    ['as it is', [], named],
    ['with the fixtures', ['--skills', fixtures, '--config', join(fixtures, 'skillet.toml')], []]
  ]) {
    const server = await startServer(mkdtempSync(join(folder, 'home-')), [...withoutLimits, ...serverArgs])
    try {
      await toolsAreKnown(server.url, serverArgs.length > 0)
      for (const { version, args } of suites) {
        const results = run(programs.get(version), args, `${server.url}/mcp`)
        const failed = [...results].flatMap(([name, ok]) => ok ? [] : [name])
        console.log(`${version} ${args.slice(0, 2).join(' ')}, ${how}: ${results.size - failed.length} of ${results.size} scenarios passed`)
        for (const name of failed) if (!expected.includes(name)) tell(`${name} failed, and should pass`)
        for (const name of expected) if (results.get(name) === true) tell(`${name} passed, and is said to fail`)
      }
    } finally {
      server.stop()
    }
  }
} catch (error) {
  tell(error.message)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
if (wrong > 0) process.exitCode = 1

/** Waits until the server knows the tools of the fixtures' MCP server, which it asks for them. */
async function toolsAreKnown (url, hasFixtures) {
  if (!hasFixtures) return
  for (let tries = 0; tries < 100; tries++) {
    const { skills } = await (await fetch(`${url}/api/skills`)).json()
    if (skills.some(({ name, tools }) => name === 'asking' && tools.length > 0)) return
    await new Promise(resolve => { setTimeout(resolve, 200) })
  }
  throw new Error('the fixtures are not all known to the server')
}

function tell (what) {
  wrong++
  console.error(`conformance: ${what}`)
}

/**
 * Installs a version of the suite.
 * @returns the path of its program. It is changed to run on Node 20: an import of a function of `fs` that Node 20 lacks
 * is removed, since only other commands of the program use it.
 */
function install (version) {
  const home = process.env.MCP_CONFORMANCE === undefined
    ? join(folder, version)
    : join(process.env.MCP_CONFORMANCE, version)
  if (process.env.MCP_CONFORMANCE === undefined) {
    mkdirSync(home)
    const { status } = spawnSync(
      'npm',
      [
        'install', '--prefix', home, '--no-save', '--no-audit', '--no-fund', '--loglevel=error',
        `@modelcontextprotocol/conformance@${version}`
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] }
    )
    if (status !== 0) throw new Error(`version ${version} could not be installed`)
  }
  const program = join(home, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  writeFileSync(program, readFileSync(program, 'utf8').replace(/globSync as \w+,/, ''))
  return program
}

/** @returns whether each scenario passed, by the name of the scenario */
function run (program, args, url) {
  const { status, stdout, error } = spawnSync(process.execPath, [program, 'server', ...args, '--url', url], {
    cwd: folder, encoding: 'utf8', timeout: 280_000, maxBuffer: 64 * 1_048_576
  })
  if (error !== undefined) throw error
  const [what, scenario] = args
  if (what === '--scenario') return new Map([[scenario, status === 0]])
  const summary = stdout.slice(stdout.lastIndexOf('=== SUMMARY ==='))
  const results = new Map([...summary.matchAll(/^([✓✗]) ([\w-]+): /gm)].map(([, mark, name]) => [name, mark === '✓']))
  if (results.size === 0) throw new Error(`the suite gave no summary: ${stdout.slice(-1_000)}`)
  return results
}
