import t from 'tap'
import { eachEngine, requestOf } from './support.ts'

eachEngine(t, 'pages come from this server alone', {}, async (t, { ask, wire, port }) => {
  const front = await ask('GET', '/')
  t.equal(front.status, 200)
  t.match(front.text, /href="\/docs\/api"[\s\S]*Version 1\.2\.3/)
  for (const path of ['/docs/api', '/docs/api/']) {
    const page = await ask('GET', path)
    t.equal(page.status, 200)
    t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(
      page.headers.get('content-security-policy'),
      /^default-src 'self'; .*object-src 'none'.*frame-ancestors 'none'/
    )
    t.notMatch(page.text, /https?:\/\//)
    t.notMatch(page.text, /<script>|onload=/, 'the policy allows no script in the page')
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
    t.ok(links.length >= 4)
    for (const link of links) t.equal((await ask('GET', link)).status, 200, link)
  }
  const script = await ask('GET', '/docs/api/docs.js')
  t.match(script.text, '/api/openapi.json')
  t.notMatch(script.text, /https?:\/\//)

  const connection = await wire()
  const host = { Host: `localhost:${port}` }
  const bundle = await connection.write(requestOf('GET', '/docs/api/swagger-ui-bundle.js', host)).read()
  t.equal(bundle.status, 200)
  t.ok(bundle.bytes.length > 1_000_000)
  t.match(bundle.headers.get('content-type'), /^text\/javascript/)
  const etag = bundle.headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
    const again = await connection.write(
      requestOf('GET', '/docs/api/swagger-ui-bundle.js', { ...host, 'If-None-Match': known })
    ).read()
    t.match([again.status, again.headers.get('etag')], [304, etag])
  }
  t.equal(
    (await connection.write(requestOf('GET', '/docs/api/swagger-ui-bundle.js', { ...host, 'If-None-Match': '"other"' }))
      .read()).bytes.length,
    bundle.bytes.length
  )
  connection.destroy()

  for (const path of [
    '/docs/api/package.json', '/docs/api/../../package.json', '/docs/api/%2e%2e/package.json',
    '/docs/api/swagger-ui-bundle.js.map', '/docs', '/docs/api/docs.js/'
  ]) {
    t.equal((await ask('GET', path)).status, 404, path)
  }
  t.equal((await ask('POST', '/')).status, 405)
})
