import t from 'tap'
import { startBundled } from '../support/bundled.ts'
import { startWebServer } from '../support/web-server.ts'

const page =
  `<!doctype html><html lang="en"><head><meta charset="iso-8859-1"><title>Caf\xe9 \u00fc</title><base href="/docs/">
<meta property="og:title" content="OG"><meta property="og:image" content="/i.png"><meta name="keywords" content="a, b ,"><link rel="alternate" type="application/rss+xml" href="feed.xml" title="News">
<link rel="canonical" href="https://example.org/c"><script type="application/ld+json">{"@type":"Article"}</script><script type="application/ld+json">{broken</script><style>p{}</style></head>
<body><nav><a href="/home">Home</a></nav><main><h1>Caf\xe9</h1><p>One <em>two</em> <a href="more?x=1#y">more</a> <a href="javascript:alert(1)">bad</a><span hidden>secret</span><i style="color:red;display: none">secret</i></p>
<table><caption>Kinds</caption><tr><th>a|b</th><th>c</th></tr><tr><td><p>x</p><p>y</p></td><td></td></tr></table>
<div class="highlight-source-js"><pre><span>let</span> a = 1\n\n\nlet b</pre></div><ul><li>1<ul><li>2</li></ul></li></ul><img src="a.png" alt="A"><del>old</del></main>
<footer><a href="https://other.example/x" rel="nofollow"><img src=f.png alt="Foot"></a><a href="//other.example/x">again</a></footer><script>alert('secret')</script></body></html>`

const server = await startWebServer((request, response) => {
  switch (request.url) {
    case '/page': return response.setHeader('content-type', 'text/html').end(Buffer.from(page, 'latin1'))
    case '/moved': return response.writeHead(301, { location: '/page' }).end()
    case '/json': return response.setHeader('content-type', 'application/json').end('{}')
    case '/large': return response.setHeader('content-type', 'text/html')
      .end(`<p>first</p><!--${' '.repeat(2_100_000)}--><p>last</p>`)
    default: return response.writeHead(404).end('<p>nothing</p>')
  }
})
const { call, json, close } = await startBundled({ web: { allow: [server.host] } })
t.teardown(async () => {
  server.close()
  await close()
})

t.test('a page as Markdown', async t => {
  const url = `${server.url}/moved`
  t.equal(await call('web', 'markdown', { url }), [
    '# Café', `One _two_ [more](${server.url}/docs/more?x=1#y) bad`, 'Kinds',
    '| a\\|b | c |\n| --- | --- |\n| x y |  |', '```js\nlet a = 1\n\n\nlet b\n```', '-   1\n    -   2', '~~old~~'
  ].join('\n\n'))
  const whole = await call('web', 'markdown', { url, main: false, links: false, images: true })
  t.match(whole, /^Home/)
  t.match(whole, `![A](${server.url}/docs/a.png)`)
  t.notMatch(whole, /secret|alert|\]\([^)]*more/)
  const first = await call('web', 'markdown', { url, length: 8 })
  t.equal(
    first,
    '# Café\n\n\n(cut at 8 of 180 characters; go on with from = 8)'.replace('180', /of (\d+)/.exec(first)?.[1] ?? '')
  )
  t.match(await call('web', 'markdown', { url, from: 8, length: 3 }), /^One\n\(cut at 11 of/)
  t.equal(
    await call('web', 'markdown', { html: '<p>😀😀</p>', length: 3 }),
    '😀\n(cut at 2 of 4 characters; go on with from = 2)',
    'no half of a character'
  )
  t.equal(await call('web', 'markdown', { html: '<p>a</p><p>b' }), 'a\n\nb')
  t.equal(
    await call('web', 'markdown', { url: `${server.url}/large` }),
    'first\n(the page is larger than what is read of it)'
  )
  t.equal(
    await call('web', 'markdown', {
      html: '<table><tr><td><table><tr><td>in</td></tr></table></td><td>out</td></tr></table>'
    }),
    '| in |\n| --- |\n\nout',
    'a table that holds a page together is none'
  )
})

t.test('links', async t => {
  const url = `${server.url}/page`
  t.same(await json('web', 'links', { url }), { url, links: [
    { url: `${server.url}/home`, text: 'Home' }, { url: `${server.url}/docs/more?x=1#y`, text: 'more' },
    { url: 'https://other.example/x', text: 'Foot', rel: 'nofollow' }, { url: 'http://other.example/x', text: 'again' }
  ] })
  t.match(await json('web', 'links', { url, which: 'external', limit: 1 }), {
    links: [{ url: 'https://other.example/x' }],
    more: 1
  })
  t.match(await json('web', 'links', { url, which: 'internal' }), { links: [{ text: 'Home' }, { text: 'more' }] })
  t.same(await json('web', 'links', { html: '<a href="b">x</a><a href="data:text/plain,x">y</a><a href="">z</a>' }), {
    links: [{ url: 'b', text: 'x' }]
  })
})

t.test('metadata', async t => {
  t.same(await json('web', 'metadata', { url: `${server.url}/page` }), {
    url: `${server.url}/page`, title: 'Café ü', language: 'en', canonical: 'https://example.org/c',
    keywords: ['a', 'b'], image: `${server.url}/i.png`,
    feeds: [{ url: `${server.url}/docs/feed.xml`, title: 'News', type: 'application/rss+xml' }],
    open_graph: { title: 'OG', image: '/i.png' }, headings: ['Café'], linked_data: [{ '@type': 'Article' }]
  })
  t.same(
    await json('web', 'metadata', {
      html: '<meta name="__proto__" content="x"><meta property="og:__proto__" content="y">'
    }),
    JSON.parse('{"open_graph":{"__proto__":"y"}}')
  )
  t.same(await json('web', 'metadata', { html: '' }), {})
})

t.test('what can\'t be read', async t => {
  for (const [parameters, message] of [
    [{}, /give either `url` or `html`/], [{ url: `${server.url}/page`, html: 'x' }, /give either/],
    [{ html: 'x', base_url: 'nowhere' }, /`base_url` is no URL/],
    [{ url: `${server.url}/json` }, /is no page of HTML, but application\/json/],
    [{ url: `${server.url}/none` }, /answers 404 Not Found/],
    [{ url: `http://127.0.0.2:${server.port}/page` }, /\[skills\.config\.web\] allow/],
    [{ html: '<div>'.repeat(100_000) }, /nested too deeply/], [{ html: 'x', from: 9 }, /the page has 1 characters/]
  ] as const) await t.rejects(call('web', 'markdown', { ...parameters }), { code: 'TOOL_EXECUTION_FAILED', message })
})

t.test('pages that are made to take long are read', async t => {
  const many = (text: string): Promise<string> => call('web', 'markdown', { html: text })
  t.equal(await many(`<p>a${'&nbsp;'.repeat(50_000)}b`), 'a b')
  t.equal(await many('<p>x</p>'.repeat(5000)), Array(5000).fill('x').join('\n\n'))
  t.match(await many('<b>'.repeat(900)), /^\**$/)
  t.match(await many('<table><tr><td>'.repeat(200)), /^[|\s-]*$/)
})
