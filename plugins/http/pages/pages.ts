import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Version } from '../../../kernel/index.ts'
import type { App } from '../api/app.ts'
import type { RequestContext } from '../api/request-context.ts'
import { docsPage, docsScript } from './docs.ts'
import { headerOf } from '../engine/server.ts'

interface Asset { type: string, etag: string, body: string | Uint8Array }

/** The folder with Swagger UI's files, which the build puts beside this file. */
const swagger = new URL('./swagger-ui/', import.meta.url)

/** The pages of the server: a front page, and the interactive documentation. */
export function addPages (app: App, version: Version): void {
  const serve = (path: string, load: () => Asset | Promise<Asset>): void => {
    let loaded: Asset | undefined
    const send = (context: RequestContext, asset: Asset): void => {
      app.replies.page(context, asset.type, asset.etag, asset.body, headerOf(context.exchange.headers, 'if-none-match'))
    }
    app.router.add('GET', path, {
      writes: false,
      access: 'open',
      // The files are read at the first request, then kept in memory: they are few and of known size.
      run: async context => { send(context, loaded ??= await load()) }
    })
  }
  const html = 'text/html; charset=utf-8'
  const script = 'text/javascript; charset=utf-8'
  serve('/', () => asset(html, frontPage(version)))
  serve('/docs/api', () => asset(html, docsPage))
  serve('/docs/api/', () => asset(html, docsPage))
  serve('/docs/api/docs.js', () => asset(script, docsScript))
  for (const [file, type] of [
    ['swagger-ui.css', 'text/css; charset=utf-8'],
    ['swagger-ui-bundle.js', script],
    ['favicon-32x32.png', 'image/png']
  ] as const) {
    serve(`/docs/api/${file}`, async () => asset(type, await readFile(new URL(file, swagger))))
  }
}

function asset (type: string, body: string | Uint8Array): Asset {
  return { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}

function frontPage ({ version, commit, build_date }: Version): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Skillet</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif }
  body { max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
  code { font-size: .95em }
</style>
<h1>Skillet</h1>
<p>This server lists, searches and runs skills for programs, people and AI agents.</p>
<ul>
  <li><a href="/docs/api">Interactive documentation</a> of the API, and its <a href="/api/openapi.json">OpenAPI description</a></li>
  <li><a href="/api/skills">Installed skills</a></li>
  <li><a href="/api/executions">Executions</a></li>
  <li><a href="/api/health">Health</a></li>
</ul>
<p>Version ${escape(version)}, commit <code>${escape(commit)}</code>, built ${escape(build_date)}</p>
</html>
`
}

function escape (text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
