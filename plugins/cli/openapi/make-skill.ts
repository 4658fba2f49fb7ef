import { lookup } from 'node:dns/promises'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isIP } from 'node:net'
import { stringify } from 'smol-toml'
import { isObject, messageOf, type JsonObject } from '../../../kernel/index.ts'
import { whySpecial } from '../../toolkit/net/special-addresses.ts'
import { takeInFiles } from '../../toolkit/openapi/external-files.ts'
import { operationsMax } from '../../toolkit/openapi/limits.ts'
import { openDocument } from '../../toolkit/openapi/open-document.ts'
import { matches, operationsIn, type Operation } from '../../toolkit/openapi/operations.ts'
import { parseFile } from '../../toolkit/openapi/parse-document.ts'
import type { HttpSection } from '../../toolkit/openapi/read-api.ts'
import { reduceDocument } from '../../toolkit/openapi/reduce.ts'
import { References } from '../../toolkit/openapi/references.ts'
import { addedAuth, chooseAuth } from '../../toolkit/openapi/security.ts'
import { serverOf, serversOf } from '../../toolkit/openapi/servers.ts'
import type { TargetAuth } from '../../toolkit/openapi/target.ts'
import { nameOperations } from '../../toolkit/openapi/tool-names.ts'
import { keptNames, toolsOf } from '../../toolkit/openapi/tools.ts'
import { objectAt, short, textAt } from '../../toolkit/openapi/values.ts'
import { DOCUMENT, MANIFEST } from '../../toolkit/skill-folder.ts'
import { UsageError } from '../boot.ts'
import { loadReferenced, type Loaded } from './load-file.ts'

/** What the user asks for. */
export interface Wish {
  name: string
  /** What of the document is imported; all where empty. */
  filter: readonly string[]
  server?: string
  /** Credentials that the document does not mention; `none`: none at all. */
  auth?: string
  /** What an earlier import chose, which stays. */
  before?: { auth: readonly TargetAuth[], names: ReadonlyMap<string, string>, read?: unknown }
}

/** A document that is ready to become a skill. */
export interface Opened { document: JsonObject, operations: Operation[], faults: string[], loaded: Loaded }

/**
 * Opens a document and finds the operations that are imported.
 * @throws Error that says what is wrong with the document, or that nothing in it fits the filters
 */
export async function openLoaded (
  loaded: Loaded, filter: readonly string[], signal: AbortSignal
): Promise<Opened> {
  const { bytes, url } = loaded
  const document = await openDocument(await parseFile(bytes, url.href), url.href)
  const faults = await takeInFiles(document, url.href, file => loadReferenced(file, url, signal))
  const all = operationsIn(document, new References(document))
  const operations = filter.length === 0 ? all : all.filter(operation => filter.some(text => matches(operation, text)))
  if (operations.length === 0) {
    throw new UsageError(all.length === 0
      ? `${url.href} has no operations`
      : `none of the ${all.length} operations of ${url.href} fits ${filter.join(', ')}; a filter is tag:NAME, path:/PATH/* or operation:ID`)
  }
  if (operations.length > operationsMax) {
    throw new UsageError(`${url.href} has ${operations.length} operations; the most is ${operationsMax}; choose some: --filter tag:NAME`)
  }
  return { document, operations, faults, loaded }
}

/**
 * Writes the folder of the skill: skill.toml, and the operations with all that they need of the document.
 * @param source where the document was named, for the next import
 * @returns the operations that are left out, and why
 */
export async function writeSkill (
  folder: string, { document, operations: chosen, loaded }: Opened, wish: Wish, source: string
): Promise<string[]> {
  const { name, filter, before } = wish
  const server = chooseServer(document, wish, loaded.url)
  const auth = chooseCredentials(document, chosen, wish)
  const calling = { server, private: await isPrivate(new URL(server)), auth }
  const { left_out } = toolsOf(document, calling, chosen)
  const left = new Set(left_out.map(({ key }) => key))
  const operations = chosen.filter(({ key }) => !left.has(key))
  if (operations.length === 0) throw new Error(left_out[0]?.error ?? 'it has no operations')
  const names = nameOperations(operations, before?.names)
  const info = objectAt(document, 'info')
  const http: HttpSection = {
    ...calling, source, sha256: loaded.sha256,
    ...validatorsOf(loaded),
    ...(filter.length > 0 && { filter: [...filter] })
  }
  const version = String(info['version'] ?? '').slice(0, 64)
  const manifest = {
    name, description: describe(info, server), ...(version !== '' && { version }), runtime: 'http',
    permissions: {
      network: true, secrets: [...new Set(auth.flatMap(({ secrets }) => secrets))],
      ...(before?.read !== undefined && { read: before.read })
    },
    http
  }
  await writeFile(join(folder, MANIFEST), `${stringify(manifest)}\n`)
  const reduced = reduceDocument(document, operations, names)
  await writeFile(join(folder, DOCUMENT), `${JSON.stringify(reduced, null, 1)}\n`)
  return left_out.map(({ error }) => error)
}

/** What a later update asks with; longer ones are left out. */
function validatorsOf ({ etag = '', last_modified = '' }: Loaded): Pick<HttpSection, 'etag' | 'last_modified'> {
  return {
    ...(etag !== '' && etag.length <= 1_024 && { etag }),
    ...(last_modified !== '' && last_modified.length <= 128 && { last_modified })
  }
}

function describe (info: JsonObject, server: string): string {
  const [title = '', text = ''] = [textAt(info, 'title'), textAt(info, 'summary') ?? textAt(info, 'description')]
  const words = [title, text].map(part => part.replaceAll(/\s+/g, ' ').trim()).filter(part => part !== '')
  return short(words.join(': ') || `The web API at ${new URL(server).host}`, 500)
}

/** @throws UsageError when the document does not say where requests are sent */
function chooseServer (document: JsonObject, { server }: Wish, url: URL): string {
  const base = url.protocol === 'file:' ? undefined : url.href
  if (server !== undefined) {
    const chosen = serverOf(server, base)
    if (chosen === undefined) throw new UsageError(`--server ${server} is no address with http or https`)
    return chosen
  }
  const servers = serversOf(document, base)
  const chosen = servers.find(address => address.startsWith('https:')) ?? servers[0]
  if (chosen !== undefined) return chosen
  throw new UsageError(`${url.href} does not say where requests are sent; name it: --server https://…`)
}

/** @throws UsageError when the text is none that is known */
function chooseCredentials (
  document: JsonObject, operations: readonly Operation[], { auth, name, before }: Wish
): TargetAuth[] {
  if (before !== undefined) return [...before.auth]
  if (auth === 'none') return []
  if (auth === undefined) {
    return chooseAuth(document, operations.map(({ value }) => value), new References(document), name)
  }
  const added = addedAuth(auth, name)
  if (added !== undefined) return [added]
  throw new UsageError(`--auth ${auth} is none of bearer, basic, header:NAME, query:NAME, cookie:NAME and none`)
}

/** Whether a server is on this machine or in a private network. One that can't be looked up counts as public. */
async function isPrivate ({ hostname }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0) return whySpecial(host) !== undefined
  const addresses = await lookup(host, { all: true }).catch(() => [])
  return addresses.some(({ address }) => whySpecial(address) !== undefined)
}

/** The names that the operations of an earlier import have, and its credentials. */
export function earlier (text: string, { auth }: HttpSection): NonNullable<Wish['before']> {
  try {
    const document: unknown = JSON.parse(text)
    if (!isObject(document)) throw new Error('it holds no object')
    const operations = operationsIn(document, new References(document))
    return { auth, names: nameOperations(operations, keptNames(operations)) }
  } catch (error) {
    throw new Error(`${DOCUMENT} of the installed skill is damaged: ${messageOf(error)}`, { cause: error })
  }
}
