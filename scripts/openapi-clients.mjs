// Checks the OpenAPI description of the built server with Redocly and Spectral, and calls all operations of the server
// with clients that openapi-typescript and openapi-python-client generate. These programs are installed into a
// temporary folder; checks whose programs can't be downloaded are skipped with a message.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { pythonWith } from './python.mjs'
import { environmentIn, startServer } from './server.mjs'

const packages = [
  '@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3', 'openapi-typescript@7.13.0', 'openapi-fetch@0.17.0'
]
const requirements = ['openapi-python-client==0.29.1']
const key = 'key-of-the-check'
/**
 * The errors of operations that fail, since the execution of the examples has ended, and nobody may approve what the
 * same key started.
 */
const failing = {
  cancel_execution: { status: 409, code: 'CONFLICT' }, deny_execution: { status: 409, code: 'CONFLICT' },
  approve_execution: { status: 403, code: 'FORBIDDEN' }
}

const folder = mkdtempSync(join(tmpdir(), 'skillet-openapi-'))
const bin = join(folder, 'node_modules', '.bin')
const env = { ...environmentIn(folder), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
let server
try {
  // With a key, the check includes the way in which clients send it.
  server = await startServer(folder, ['--auth-required'], { SERVICE_API_KEY: key })
  const { url } = server
  const document =
    await (await fetch(`${url}/api/openapi.json`, { headers: { authorization: `Bearer ${key}` } })).json()
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  const calls = callsOf(document)
  if (install()) {
    lint()
    callFromTypeScript(url, calls)
  } else console.log('skipped: the registry of npm could not be reached')
  const python = pythonWith(folder, requirements)
  if (python === undefined) console.log('skipped: there is no Python, or PyPI could not be reached')
  else callFromPython(python, url, calls)
} catch (error) {
  console.error(`openapi: ${error.message}`)
  process.exitCode = 1
} finally {
  server?.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** Makes a call of each operation from its examples. The operation that makes an execution is the first. */
function callsOf ({ paths }) {
  const calls = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).filter(([, { responses }]) => isJson(responses)).map((
      [method, { operationId, tags, parameters = [], requestBody }]
    ) => ({
      name: operationId,
      tag: tags[0].toLowerCase(),
      path,
      method: method.toUpperCase(),
      values: { path: valuesIn('path', parameters), query: valuesIn('query', parameters) },
      ...(requestBody !== undefined && { body: requestBody.content['application/json'].example }),
      ...(failing[operationId] ?? { status: 200 })
    })))
  return calls.sort((a, b) => Number(b.name === 'execute') - Number(a.name === 'execute'))
}

/** Whether an operation answers with JSON. No generated client reads a stream of events. */
function isJson (responses) {
  return responses[200]?.content?.['application/json'] !== undefined
}

function valuesIn (where, parameters) {
  return Object.fromEntries(
    parameters.filter(one => one.in === where && 'example' in one).map(({ name, example }) => [name, example])
  )
}

/** @returns whether the registry could be reached */
function install () {
  const { status, stderr } = spawnSync(
    'npm',
    [
      'install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error',
      ...packages
    ],
    { encoding: 'utf8' }
  )
  if (status === 0) return true
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/.test(stderr)) return false
  throw new Error(`npm could not install ${packages.join(' ')}: ${stderr}`)
}

function lint () {
  run(join(bin, 'redocly'), ['lint', 'openapi.json', '--extends', 'recommended-strict'])
  writeFileSync(join(folder, 'ruleset.json'), '{"extends": ["spectral:oas"]}')
  run(join(bin, 'spectral'), ['lint', 'openapi.json', '--ruleset', 'ruleset.json', '--fail-severity', 'hint'])
}

/** Type checks and runs a program that calls all operations with the generated types. */
function callFromTypeScript (url, calls) {
  run(join(bin, 'openapi-typescript'), ['openapi.json', '-o', 'schema.d.ts'])
  const text = `import createClient from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

const client = createClient<paths>({ baseUrl: '${url}', headers: { Authorization: 'Bearer ${key}' } })
type Code = components['schemas']['ErrorCode']

async function call<Data> (name: string, expected: number, code: Code | undefined, answer: Promise<{ data?: Data, error?: components['schemas']['Error'], response: Response }>): Promise<Data | undefined> {
  const { data, error, response: { status } } = await answer
  if (status !== expected || (status !== 200 && error?.error.code !== code)) throw new Error(\`\${name} answered \${status}: \${error?.error.message}\`)
  return data
}

let id = ''
${calls.map(({ name, path, method, values, body, status, code }) => {
    const params = Object.fromEntries(Object.entries(values).filter(([, named]) => Object.keys(named).length > 0))
    const options = JSON.stringify({ params, ...(body !== undefined && { body }) }).replace(/"id":"[^"]*"/, 'id')
    const answer = `await call('${name}', ${status}, ${JSON.stringify(code)}, client.${method}('${path}', ${options}))`
    return name === 'execute' ? `id = (${answer})?.execution_id ?? ''` : answer
  }).join('\n')}
console.log('${calls.length} operations called by a client of openapi-typescript')
`
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(folder, 'client.ts'), text)
  run(resolve('node_modules/.bin/tsc'), [
    '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--lib', 'es2023,dom', '--module', 'nodenext',
    '--types', '', '--allowImportingTsExtensions', 'client.ts'
  ])
  writeFileSync(join(folder, 'client.js'), transformSync(text, { loader: 'ts', format: 'esm' }).code)
  run(process.execPath, ['client.js'])
}

function callFromPython (python, url, calls) {
  const path = `${python}:${env.PATH}` // the generator formats its output with a program in that folder
  mkdirSync(join(folder, 'python'))
  run(
    join(python, 'openapi-python-client'),
    [
      'generate', '--path', 'openapi.json', '--output-path', 'python/skillet_client', '--meta', 'none',
      '--fail-on-warning'
    ],
    { PATH: path }
  )
  writeFileSync(join(folder, 'calls.json'), JSON.stringify(calls))
  run(join(python, 'python'), [resolve('scripts/openapi-clients.py'), url, key, 'calls.json'], {
    PYTHONPATH: join(folder, 'python')
  })
}

function run (program, args, more = {}) {
  const { status, stdout, stderr, error } =
    spawnSync(program, args, { cwd: folder, env: { ...env, ...more }, encoding: 'utf8' })
  if (status !== 0) {
    throw new Error(error?.message ?? `${[program, ...args].join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  }
  const [said] = stdout.trim().split('\n').slice(-1)
  if (said) console.log(said)
}
