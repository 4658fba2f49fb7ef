import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Allowed } from '../../toolkit/net/addresses.ts'
import { explain, redirectStatuses, send } from '../../toolkit/net/request.ts'
import { whySpecial } from '../../toolkit/net/special-addresses.ts'
import { documentBytesMax } from '../../toolkit/openapi/limits.ts'

const redirectsMax = 5
/** How long one file may take, in milliseconds. */
const file_ms = 60_000

/** A document as it was fetched. */
export interface Loaded {
  bytes: Buffer
  /** Where it really is, after redirects. */
  url: URL
  etag: string | undefined
  last_modified: string | undefined
  sha256: string
}

/** What is known of a document from the time before, so that it is not sent again if it is the same. */
export type Validators = Partial<Pick<Loaded, 'etag' | 'last_modified'>>

/** A document that its server says is as it was. */
export class NotModified extends Error {}

/**
 * Reads the document that the user names: its host may be anywhere, since the user named it.
 * @throws NotModified when it fits the validators; Error naming the file
 */
export async function loadDocument (url: URL, signal: AbortSignal, validators: Validators = {}): Promise<Loaded> {
  const loaded = url.protocol === 'file:'
    ? { bytes: await readBounded(fileURLToPath(url)), url, etag: undefined, last_modified: undefined }
    : await download(url, new Allowed('the command line', [hostOf(url)]), signal, validators)
  return { ...loaded, sha256: createHash('sha256').update(loaded.bytes).digest('hex') }
}

/**
 * Reads a file that a document refers to: one beside it or below it, or one with a public address, or on its own host.
 * @throws Error that says why it is not read
 */
export async function loadReferenced (url: URL, document: URL, signal: AbortSignal): Promise<Buffer> {
  if (url.protocol !== 'file:') {
    const own = document.protocol === 'file:' ? [] : [hostOf(document)]
    return (await download(url, new Allowed('the host of the document', own), signal)).bytes
  }
  if (document.protocol !== 'file:') {
    throw new Error('a document that was fetched may not refer to files of this machine')
  }
  const [folder, file] =
    await Promise.all([realpath(dirname(fileURLToPath(document))), realpath(fileURLToPath(url))])
  if (!file.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
    throw new Error(`it is not in the folder of the document, ${folder}`)
  }
  return await readBounded(file)
}

async function readBounded (path: string): Promise<Buffer> {
  // A pipe would be waited for, and a device never ends.
  const { size, isFile } = await stat(path).then(stats => ({ size: stats.size, isFile: stats.isFile() }))
  if (!isFile) throw new Error(`${path} is no file`)
  if (size > documentBytesMax) throw new Error(`${path} has ${size} bytes; the most is ${documentBytesMax}`)
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

async function download (
  first: URL, allowed: Allowed, outer: AbortSignal, { etag, last_modified }: Validators = {}
): Promise<Omit<Loaded, 'sha256'>> {
  const late = AbortSignal.timeout(file_ms)
  const signal = AbortSignal.any([outer, late])
  const conditions = {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(last_modified !== undefined && { 'if-modified-since': last_modified })
  }
  let url = first
  try {
    for (let redirects = 0; ; redirects++) {
      refuseUnsafe(url)
      const { status, status_text, headers, body, truncated } = await send(url, {
        method: 'GET', headers: { accept: 'application/json, application/yaml, */*;q=0.5', ...conditions }, allowed,
        bytes_max: documentBytesMax, signal
      })
      const { location } = headers
      if (redirectStatuses.has(status) && location !== undefined && URL.canParse(location, url.href)) {
        if (redirects === redirectsMax) throw new Error(`it redirects more than ${redirectsMax} times`)
        url = new URL(location, url)
        continue
      }
      if (status === 304 && Object.keys(conditions).length > 0) throw new NotModified(`${url.href} is as it was`)
      if (status !== 200) throw new Error(`the server answers ${status} ${status_text}`.trimEnd())
      if (truncated) throw new Error(`it has more than ${documentBytesMax} bytes`)
      return { bytes: body, url, etag: headers['etag'], last_modified: headers['last-modified'] }
    }
  } catch (error) {
    outer.throwIfAborted()
    if (error instanceof NotModified) throw error
    const why = late.aborted ? `it takes longer than ${file_ms / 1000} s` : explain(error)
    throw new Error(`${url.href} can't be fetched: ${why}`, { cause: error })
  }
}

/** A document says where secrets are sent, so it must come unchanged. */
function refuseUnsafe (url: URL): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('only http and https are fetched')
  if (url.username !== '' || url.password !== '') throw new Error('an address with a password is not fetched')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const why = host === 'localhost' ? 'local' : whySpecial(host)
  if (url.protocol === 'http:' && (why === undefined || why === 'no address')) {
    throw new Error('it can be changed on its way: use https')
  }
}

/** A host with its port, as an entry of what may be reached. */
export function hostOf (url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`
}
