import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface WebServer {
  /** `http://127.0.0.1:PORT` */
  url: string
  /** `127.0.0.1:PORT` */
  host: string
  port: number
  /** What was asked: `GET /path`. */
  asked: string[]
  close (): void
}

/** A web server on this machine, for what fetches. */
export async function startWebServer (listener: RequestListener): Promise<WebServer> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo // of a server that listens on a port
  return {
    url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}`, port, asked,
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}
