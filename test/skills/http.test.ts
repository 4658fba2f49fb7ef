import { execFile } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import net, { type AddressInfo } from 'node:net'
import os, { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { Allowed } from '../../plugins/toolkit/net/addresses.ts'
import { open } from '../../plugins/toolkit/net/connect.ts'
import { whySpecial } from '../../plugins/toolkit/net/special-addresses.ts'
import { fetchUrl, type FetchOptions } from '../../skills/shared/fetch.ts'
import { decodeText, isText } from '../../skills/shared/text.ts'
import { startBundled } from '../support/bundled.ts'
import { until } from '../../plugins/testing/until.ts'
import { startWebServer } from '../support/web-server.ts'

const other = await startWebServer((request, response) => { response.end(JSON.stringify(request.headers)) })
let open_connections = 0
const server = await startWebServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
  const zeros = (): Buffer => Buffer.alloc(20_000_000)
  switch (pathname) {
    case '/text':
      return response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from('caf\xe9', 'latin1'))
    case '/echo': return response.setHeader('content-type', 'application/json').end(JSON.stringify(request.headers))
    case '/bytes': return response.setHeader('content-type', 'image/png').end(Buffer.from([0, 255, 1]))
    case '/gzip': return response.setHeader('content-encoding', 'gzip').end(gzipSync('compressed'))
    case '/br': return response.setHeader('content-encoding', 'br').end(brotliCompressSync('compressed'))
    case '/gzip-bomb': return response.setHeader('content-encoding', 'gzip').end(gzipSync(zeros()))
    case '/br-bomb': return response.setHeader('content-encoding', 'br')
      .end(brotliCompressSync(zeros(), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }))
    case '/gzip-nothing': // members without content, one after the other
      response.setHeader('content-encoding', 'gzip')
      return response.end(Buffer.concat(Array.from({ length: 10_000 }, () => gzipSync(''))))
    case '/gzip-broken':
      return response.setHeader('content-encoding', 'gzip').end(gzipSync('compressed').subarray(0, 15))
    case '/zstd': return response.setHeader('content-encoding', 'zstd').end('x')
    case '/to':
      return response.writeHead(Number(searchParams.get('status') ?? 302), { location: searchParams.get('url') ?? '' })
        .end()
    case '/round': return response.writeHead(302, { location: '/round' }).end()
    case '/head-bomb': return response.setHeader('x', 'x'.repeat(100_000)).end()
    case '/gone': return response.writeHead(410).end('gone')
    case '/hangs':
      open_connections++
      response.once('close', () => { open_connections-- })
      return response.write('a')
    default: return response.writeHead(404).end()
  }
})
const bundled = await startBundled({ http: { allow: [server.host, other.host] } })
t.teardown(async () => {
  server.close()
  other.close()
  await bundled.close()
})
const get = (path: string, more: object = {}): Promise<unknown> =>
  bundled.json('http', 'get', { url: `${server.url}${path}`, ...more })
const refused = async (
  parameters: { url: string, bytes_max?: number },
  message: RegExp,
  tool = 'get'
): Promise<void> => {
  await t.rejects(
    bundled.call('http', tool, { ...parameters }), { code: 'TOOL_EXECUTION_FAILED', message }, parameters.url
  )
}

t.test('a reply in full, its text, its head', async t => {
  t.match(await get('/text'), {
    url: `${server.url}/text`, status: 200, charset: 'windows-1252', body: 'café', truncated: false, redirects: []
  })
  t.match(await get('/bytes'), { bytes: 3, body_base64: 'AP8B' })
  t.match(await get('/bytes', { bytes_max: 2 }), { bytes: 2, truncated: true, body_base64: 'AP8=' })
  t.match(await get('/gone'), { status: 410, body: 'gone' })
  t.equal(await bundled.call('http', 'body', { url: `${server.url}/text` }), 'café')
  await refused({ url: `${server.url}/gone` }, /\/gone answers 410 Gone/, 'body')
  await refused({ url: `${server.url}/bytes` }, /is no text \(image\/png\)/, 'body')
  t.match(await bundled.json('http', 'head', { url: `${server.url}/text` }), {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=iso-8859-1' }
  })
  t.ok(server.asked.includes('HEAD /text'))
})

t.test('what was compressed, and what becomes too much', async t => {
  for (const coding of ['gzip', 'br']) {
    t.match(await get(`/${coding}`), { body: 'compressed' })
    t.match(await get(`/${coding}-bomb`, { bytes_max: 1000 }), { bytes: 1000, truncated: true })
  }
  await refused({ url: `${server.url}/gzip-nothing`, bytes_max: 1000 }, /compressed body is longer than what is in it/)
  await refused({ url: `${server.url}/gzip-broken` }, /unexpected end of file/)
  await refused({ url: `${server.url}/zstd` }, /compressed by "zstd", which was not asked for/)
  await refused({ url: `${server.url}/head-bomb` }, /head of its reply is longer than 32768 bytes/)
})

t.test('time, and a caller that goes away', async t => {
  await t.rejects(get('/hangs', { timeout_ms: 300 }), {
    message: /\/hangs can't be fetched: it took longer than 300 ms/
  })
  const gone = new AbortController()
  const ended = bundled.call('http', 'get', { url: `${server.url}/hangs` }, gone.signal)
  await until(() => open_connections > 0)
  gone.abort()
  await t.rejects(ended, { code: 'CANCELLED' })
  await until(() => open_connections === 0)
})

t.test('redirects: how many, where to, and what goes along', async t => {
  const to = (url: string, status = 302): string => `/to?status=${status}&url=${encodeURIComponent(url)}`
  for (const status of [301, 303, 307, 308]) {
    t.match(
      await get(to('/text', status)),
      { url: `${server.url}/text`, body: 'café', redirects: [`${server.url}${to('/text', status)}`] }
    )
  }
  t.match(await get(to('/text'), { redirects: 0 }), { status: 302, headers: { location: '/text' } })
  await refused({ url: `${server.url}/round` }, /it redirects more than 5 times/)
  t.equal(server.asked.filter(line => line === 'GET /round').length, 6)
  const told = { headers: { 'accept-language': 'de', 'x-token': 'mine', cookie: 'a=b' }, authorization: 'Bearer mine' }
  t.match(await get(to('/echo'), told), { body: /mine/ })
  const elsewhere = await get(to(other.url), told) as { body: string }
  t.match(JSON.parse(elsewhere.body), { 'accept-language': 'de', host: other.host })
  t.notMatch(elsewhere.body, /mine|a=b/)
  for (const [url, why] of [
    ['file:///etc/passwd', /only http and https are/], [`http://user:secret@${other.host}/`, /name or password in it/],
    [`http://127.0.0.2:${other.port}/`, /an address of this machine/],
    ['http://169.254.169.254/latest', /link-local address/]
  ] as const) await refused({ url: `${server.url}${to(url)}` }, why)
})

t.test('nothing of this machine or a private network is reached, however it is spelled', async t => {
  const own =
    Object.values(networkInterfaces()).flat().map(one => one?.address ?? '').filter(address => net.isIPv4(address))
  const hosts = [
    'localhost', '127.0.0.2', '127.1', '2130706433', '0x7f000002', '0177.0.0.2', '0', '0.0.0.0', '[::]', '[::1]',
    '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::127.0.0.1]', '127.0.0.1.',
    '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '169.254.169.254', '[fe80::1]', '[fd00::1]', '[fec0::1]',
    '[64:ff9b:1::1]', '[64:ff9b::a00:1]', '224.0.0.1', '255.255.255.255', '[ff02::1]', '198.18.0.1', '192.0.2.1',
    '[2001:db8::1]', '[2001::1]', '[100::1]', '[4000::1]',
    ...own.filter(address => address !== '127.0.0.1')
  ]
  const asked = server.asked.length
  const none = Allowed.of('http', {})
  for (const host of hosts) {
    const url = new URL(`http://${host}:${server.port}/text`)
    await t.rejects(open(url, none, AbortSignal.timeout(60_000)), { message: /\[skills\.config\.http\] allow/ }, host)
  }
  // By the tool, in its thread.
  await refused({ url: `http://127.0.0.2:${server.port}/text` }, /127\.0\.0\.2 is an address of this machine/)
  t.equal(server.asked.length, asked)
})

t.test('whichever way an address of IPv4 is written, it is the same one', async t => {
  const hex = (octets: readonly number[]): string =>
    octets.map(octet => octet.toString(16).padStart(2, '0')).join('').replace(/^(.{4})/, '$1:')
  const hostOf = (text: string): string => new URL(`http://${text}/`).hostname.replace(/^\[|\]$/g, '')
  fc.assert(fc.property(
    fc.tuple(...Array.from(
      { length: 4 },
      () => fc.oneof(fc.constantFrom(0, 10, 127, 168, 169, 172, 192, 254), fc.integer({ min: 0, max: 255 }))
    )),
    octets => {
      const dotted = octets.join('.')
      const number = octets.reduce((sum, octet) => sum * 256 + octet, 0)
      const why = whySpecial(dotted)
      const [a = 0, b = 0] = octets
      if (
        a === 127 || a === 10 || a === 0 || (a === 192 && b === 168) || (a === 169 && b === 254)
        || (a === 172 && b >= 16 && b < 32)
      ) {
        t.not(why, undefined, dotted)
      }
      for (const spelled of [
        String(number),
        `0x${number.toString(16)}`,
        octets.map(octet => `0${octet.toString(8)}`).join('.'),
        `[::ffff:${hex(octets)}]`,
        `[64:ff9b::${hex(octets)}]`
      ]) {
        if (whySpecial(hostOf(spelled)) !== why) throw new Error(`${spelled} is not taken for ${dotted}`)
      }
      if (whySpecial(hostOf(`[2002:${hex(octets)}::1]`)) === undefined) throw new Error(`6to4 of ${dotted}`)
    }
  ), { numRuns: 200 })
  t.equal(whySpecial('1.1.1.1'), undefined)
  t.equal(whySpecial('2606:4700::1'), undefined)
})

t.test('a name that changes its address, and a connection that is to somewhere else', async t => {
  const { lookup } = dns
  const { connect } = net
  const { networkInterfaces } = os
  t.teardown(() => {
    Object.assign(os, { networkInterfaces })
    Object.assign(dns, { lookup })
    Object.assign(net, { connect })
    syncBuiltinESMExports()
  })
  let received = 0
  const silent = net.createServer(socket => {
    socket.on('data', chunk => { received += chunk.length }).on('error', () => {})
  })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { silent.close() })
  let answers: string[] = []
  let lookups = 0
  Object.assign(dns, { lookup: (_host: string, _options: object, callback: (error: null, found: object[]) => void) => {
    lookups++
    callback(null, answers.map(address => ({ address, family: net.isIP(address) })))
  } })
  syncBuiltinESMExports()
  const url = new URL(`http://rebind.example:${server.port}/text`)
  const asked = server.asked.length
  for (answers of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:10.0.0.1'], ['::1']]) {
    await t.rejects(
      open(url, Allowed.of('http', {}), AbortSignal.timeout(60_000)),
      { message: /rebind\.example \(.*\) is an address of/ },
      answers.join()
    )
  }
  t.equal(lookups, 4, 'a name is looked up once for a connection')
  answers = ['127.0.0.1']
  ;(await open(url, Allowed.of('http', { allow: ['rebind.example'] }), AbortSignal.timeout(60_000))).destroy()
  // This machine may have an address of the internet.
  Object.assign(os, {
    networkInterfaces: () => ({ eth0: [{ address: '93.184.216.34' }, { address: '2606:2800:220:1::1' }] })
  })
  syncBuiltinESMExports()
  for (const own of ['93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34']) {
    t.equal(whySpecial(own), 'an address of this machine')
  }
  Object.assign(os, { networkInterfaces })
  // Whatever was looked up: the connection itself says where it is to.
  Object.assign(net, { connect: () => connect({ host: '127.0.0.1', port: (silent.address() as AddressInfo).port }) })
  syncBuiltinESMExports()
  await t.rejects(fetchUrl('http://93.184.216.34/', options({})), {
    message: /93\.184\.216\.34 \(127\.0\.0\.1\) is an address of this machine/
  })
  t.equal(received, 0)
  t.equal(server.asked.length, asked)
})

t.test('over TLS, only with a certificate that is trusted', async t => {
  const fixture = (name: string): string => new URL(`../fixtures/tls/${name}`, import.meta.url).pathname
  const secure = createTlsServer(
    { key: readFileSync(fixture('key.pem')), cert: readFileSync(fixture('cert.pem')) },
    (_request, response) => { response.end('safe') }
  )
  await once(secure.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { secure.close() })
  const url = `https://localhost:${(secure.address() as AddressInfo).port}/`
  await t.rejects(fetchUrl(url, options({ allow: ['localhost'] })), { message: /self.signed certificate/ })
  const program = `
    import { fetchUrl } from ${JSON.stringify(new URL('../../skills/shared/fetch.js', import.meta.url).href)}
    import { Allowed } from ${JSON.stringify(new URL('../../plugins/toolkit/net/addresses.js', import.meta.url).href)}
    const fetched = url => fetchUrl(url, { method: 'GET', headers: {}, allowed: Allowed.of('http', { allow: ['localhost', '127.0.0.0/8'] }), redirects_max: 0, bytes_max: 100, timeout_ms: 60000, signal: new AbortController().signal }).then(({ body }) => body.toString(), error => error.message)
    console.log(JSON.stringify([await fetched(${JSON.stringify(url)}), await fetched(${JSON.stringify(url.replace('localhost', '127.0.0.1'))}), await fetched(${JSON.stringify(url.replace('localhost', '127.0.0.2'))})]))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: fixture('cert.pem') }
  })
  const [byName, byAddress, another] = JSON.parse(stdout) as string[]
  t.same([byName, byAddress], ['safe', 'safe'])
  t.match(another, /nothing listens there|IP: 127\.0\.0\.2 is not in the cert/)
})

t.test('bad input', async t => {
  for (const [url, why] of [
    ['ftp://example.org/', /only http and https/], ['javascript:alert(1)', /only http and https/],
    ['example.org', /is no URL/], ['http://a:b@example.org/', /name or password/], ['http://', /is no URL/],
    ['http://nowhere.invalid/', /its host does not exist|can't be looked up/]
  ] as const) await refused({ url }, why)
  for (const [headers, why] of [
    [{ Host: 'x' }, /"Host" can't be set/],
    [{ 'Proxy-Authorization': 'x' }, /can't be set/],
    [{ 'a b': 'x' }, /can't be the name of a header/],
    [{ a: 'x\r\ny: z' }, /characters that a header can't have/]
  ] as const) {
    await t.rejects(get('/echo', { headers }), { message: why })
  }
  for (const parameters of [{ redirects: 21 }, { bytes_max: 0 }, { timeout_ms: 0 }, { headers: { a: 1 } }]) {
    await t.rejects(get('/echo', parameters), { code: 'INVALID_PARAMETERS' })
  }
  for (const entry of ['http://x', 'a b', '10.0.0.0/33', '127.1', 'x:99999', '', 7]) {
    t.throws(
      () => Allowed.of('http', { allow: [entry] }),
      { message: /\[skills\.config\.http\] allow: .* is no host name, address or range/ },
      String(entry)
    )
  }
  t.throws(() => Allowed.of('http', { allow: 'x' }), { message: /must be a list/ })
})

t.test('what is allowed, and no more', async t => {
  const allowed = Allowed.of('http', {
    allow: ['10.0.0.0/8', '192.168.1.1:8080', '[::1]:3000', 'fd00::/8', 'Intranet.Example.:80']
  })
  const may = (address: string, port: number): boolean => { try {
    allowed.check(address, address, port)
  } catch { return false } return true }
  t.same([may('10.9.9.9', 1), may('::ffff:10.9.9.9', 1), may('11.0.0.1', 1), may('172.16.0.1', 1)], [
    true, true, true, false
  ])
  t.same(
    [
      may('192.168.1.1', 8080), may('192.168.1.1', 80), may('::1', 3000), may('::1', 80), may('fdab::1', 80),
      may('fe80::1', 80)
    ],
    [true, false, true, false, true, false]
  )
  t.same(
    [
      allowed.host('intranet.example', 80), allowed.host('intranet.example', 443),
      allowed.host('x.intranet.example', 80)
    ],
    [true, false, false]
  )
})

t.test('encodings', async t => {
  const decode = (bytes: Buffer, type: string): string => decodeText(bytes, type).text
  t.equal(
    decode(Buffer.from('\ufeffa', 'utf16le'), 'text/plain; charset=utf-8'), 'a', 'a mark is stronger than what is said'
  )
  t.equal(decode(Buffer.from([0x83, 0x65]), 'text/plain; charset="shift_jis"'), 'テ')
  t.equal(decode(Buffer.concat([Buffer.from('<meta charset=koi8-r>'), Buffer.from([0xc1])]), 'text/html').at(-1), 'а')
  t.equal(decode(Buffer.from('é').subarray(0, 1), 'text/plain'), '', 'half a character at the end is left out')
  t.equal(decode(Buffer.from('é'), 'text/plain; charset=nonsense'), 'é')
  t.same(
    [
      isText(Buffer.from('a'), ''),
      isText(Buffer.from([0]), ''),
      isText(Buffer.from([0xff, 0xff]), 'application/octet-stream'),
      isText(Buffer.from([0]), 'application/ld+json'),
      isText(Buffer.from('a'), 'image/png')
    ],
    [true, false, false, true, false]
  )
})

function options (config: Readonly<Record<string, unknown>>): FetchOptions {
  return {
    method: 'GET', headers: {}, allowed: Allowed.of('http', config), redirects_max: 0, bytes_max: 1000,
    timeout_ms: 60_000, signal: new AbortController().signal
  }
}
