import { createServer } from 'node:net'
import { messageOf, type Finding } from '../../kernel/index.ts'
import { isWildcard, urlHost } from './access/hosts.ts'
import { loadUws } from './engine/uws.ts'
import type { ServerSettings } from './settings.ts'

/** How long a program that already uses the port may take to answer, in milliseconds. */
const ask_ms = 2_000

/** Whether a server could listen, which program listens already, and whether the fast engine loads. */
export async function examine ({ host, port }: ServerSettings, signal: AbortSignal): Promise<Finding[]> {
  return [await engine(), ...(port === 0 ? [] : [await listening(host, port, signal)])]
}

async function engine (): Promise<Finding> {
  try {
    const { package: from } = await loadUws()
    return { level: 'ok', about: 'HTTP engine', text: `uWebSockets.js loads, from ${from}` }
  } catch (error) {
    return {
      level: 'note', about: 'HTTP engine',
      text: `uWebSockets.js does not load; node:http serves instead, at a third of the rate (${messageOf(error)})`,
      remedy: 'for more speed, use Node.js 22, or Node.js 24 on a system with glibc 2.38 or later (Debian 13, Ubuntu 24.04)'
    }
  }
}

async function listening (host: string, port: number, signal: AbortSignal): Promise<Finding> {
  const about = 'port'
  const at = `${urlHost(host)}:${port}`
  const taken = await whyNot(host, port)
  if (taken === undefined) return { level: 'ok', about, text: `${at} is free` }
  if (taken.code !== 'EADDRINUSE') {
    return {
      level: 'problem',
      about,
      text: `nothing can listen at ${at}: ${taken.message}`,
      remedy: 'choose others with server.host and server.port'
    }
  }
  const url = `http://${urlHost(isWildcard(host) ? (host.includes(':') ? '::1' : '127.0.0.1') : host)}:${port}`
  const version = await skilletAt(url, signal)
  if (version !== undefined) return { level: 'ok', about, text: `Skillet ${version} serves at ${url}` }
  return {
    level: 'problem',
    about,
    text: `${at} is in use by another program`,
    remedy: 'stop it, or choose another port with server.port'
  }
}

/** Tries to listen, and returns the error; undefined when a server can listen there. */
async function whyNot (host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  const server = createServer()
  try {
    return await new Promise(resolve => {
      server.once('error', resolve)
        .listen({ host: host.replace(/^\[|\]$/g, ''), port, exclusive: true }, () => { resolve(undefined) })
    })
  } finally {
    server.close()
  }
}

/** The version of the Skillet server that answers at the URL. Errors carry it too, so no key is needed. */
async function skilletAt (url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const reply = await fetch(`${url}/api/version`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(ask_ms)]),
      redirect: 'error'
    })
    const body: unknown = JSON.parse((await reply.text()).slice(0, 10_000))
    if (typeof body !== 'object' || body === null || !('api_version' in body) || !('service_version' in body)) {
      return undefined
    }
    return String(body.service_version).slice(0, 64)
  } catch {
    return undefined
  }
}
