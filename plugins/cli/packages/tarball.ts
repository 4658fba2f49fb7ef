import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar'
import { refuseOpen } from './source.ts'

/** The most that is downloaded, the most that is in a tarball, and the bounds of a download. */
const limits = {
  downloadBytes: 256 * 1_048_576, bytes: 256 * 1_048_576, entries: 10_000, download_ms: 300_000, redirections: 5
}

/**
 * Downloads a file.
 * @throws Error when the server refuses it, leads to an address without https, or the file is too long or takes too
 * long
 */
export async function download (url: string, file: string, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(limits.download_ms)
  const reply = await request(url, AbortSignal.any([signal, late])).catch((error: unknown) => {
    signal.throwIfAborted()
    throw new Error(`${url} can't be downloaded: ${late.aborted ? 'it takes too long' : causeOf(error)}`, {
      cause: error
    })
  })
  if (!reply.ok || reply.body === null) {
    throw new Error(`${url} can't be downloaded: the server answers ${reply.status}`)
  }
  let bytes = 0
  const bounded = new Transform({
    transform (chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done(bytes > limits.downloadBytes ? new Error(`${url} has more than ${limits.downloadBytes} bytes`) : null, chunk)
    }
  })
  await pipeline(reply.body, bounded, createWriteStream(file, { mode: 0o600 }))
}

/** Follows redirections to addresses that are as safe. */
async function request (url: string, signal: AbortSignal): Promise<Response> {
  let at = new URL(url)
  for (let i = 0; i <= limits.redirections; i++) {
    refuseOpen(at)
    const reply = await fetch(at, { signal, redirect: 'manual' })
    const location = reply.headers.get('location')
    if (reply.status < 300 || reply.status > 399 || location === null) return reply
    await reply.body?.cancel()
    at = new URL(location, at)
  }
  throw new Error(`it leads on more than ${limits.redirections} times`)
}

/**
 * Unpacks a tarball into a folder that exists.
 * @returns the SHA-256 of the tarball, as `sha256:` and hexadecimal digits
 * @throws Error when it is damaged, holds too much, or has an absolute path, a path or link that leaves the folder, or
 * anything but files, folders and links
 */
export async function unpack (file: string, folder: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  let [bytes, entries] = [0, 0]
  let excess: Error | undefined
  try {
    await extract({
      file, cwd: folder, strict: true, preserveOwner: false,
      filter: (_path, entry) => {
        bytes += 'size' in entry ? Number(entry.size) : 0
        if (++entries > limits.entries || bytes > limits.bytes) {
          excess = new Error(`${file} holds more than ${limits.entries} files or ${limits.bytes} bytes`)
        }
        return excess === undefined
      }
    })
  } catch (error) {
    throw new Error(`${file} can't be unpacked: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error
    })
  }
  if (excess !== undefined) throw excess
  return `sha256:${hash.digest('hex')}`
}

function causeOf (error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message : error.message
}
