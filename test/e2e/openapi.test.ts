import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeHome, skillet, type Home } from '../support/program.ts'
import { startWebServer, type WebServer } from '../support/web-server.ts'

interface Api {
  server: WebServer
  home: Home
  document: Record<string, unknown>
  /** The status of each answer with the document. */
  sent: number[]
}

/** An API that serves its own document, at /openapi.json. */
async function startApi (t: Test): Promise<Api> {
  const document: Record<string, unknown> = {
    openapi: '3.1.0',
    info: { title: 'Pet Shop', version: '1.0' },
    servers: [{ url: '/v1' }],
    security: [{ key: [] }],
    paths: {
      '/pets/{id}': {
        get: {
          operationId: 'pets/get',
          summary: 'Get a pet',
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }]
        }
      },
      '/pets': {
        post: {
          operationId: 'pets/add',
          summary: 'Add a pet',
          requestBody: {
            content: {
              'application/json': {
                schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
              }
            }
          }
        }
      }
    },
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } }
  }
  const sent: number[] = []
  const server = await startWebServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/openapi.json') {
      const text = JSON.stringify(document)
      const etag = `"${text.length}"`
      if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
      else response.setHeader('etag', etag).end(text)
      sent.push(response.statusCode)
      return
    }
    return response.end(JSON.stringify({ url: request.url, key: request.headers['x-key'] === 'the-secret-key' }))
  })
  const home = await makeHome()
  t.teardown(async () => {
    server.close()
    await home.remove()
  })
  return { server, home, document, sent }
}

t.test('a web API: shown, confirmed, called with its secret, updated with the names that it had', async t => {
  const { server, home, document, sent } = await startApi(t)
  const url = `${server.url}/openapi.json`
  const asked = await skillet(home, ['import', 'openapi', url])
  t.match(asked, { status: 2, stderr: /nobody can be asked/ })
  t.match(
    asked.stdout,
    `It sends requests to ${server.url} and nowhere else.\n${server.url} is on this machine or in a private network.`
  )
  t.match(asked.stdout, /2 operations \(GET 1, POST 1\): 1 read, 1 may change something there, 0 delete\./)
  t.match(asked.stdout, /It sends the secret PET_SHOP_KEY in the header X-Key, with 2 of the operations\./)
  t.notOk(await stat(join(home.skills, 'pet-shop')).catch(() => undefined))

  const added = await skillet(home, ['import', 'openapi', url, '--yes', '--json'])
  t.match(JSON.parse(added.stdout), { name: 'pet-shop', tools: ['pets_get', 'pets_add'], secrets: ['PET_SHOP_KEY'] })
  t.match(await skillet(home, ['run', 'pet-shop:pets_get', 'id=1']), {
    status: 1,
    stderr: /needs the secret PET_SHOP_KEY/
  })
  t.match(await skillet(home, ['secret', 'set', 'pet-shop', 'PET_SHOP_KEY'], { input: 'the-secret-key\n' }), {
    status: 0
  })
  t.match(JSON.parse((await skillet(home, ['run', 'pet-shop:pets_get', 'id=7'])).stdout), {
    url: '/v1/pets/7',
    key: true
  })
  t.match((await skillet(home, ['search', 'get', 'a', 'pet'])).stdout, /^pet-shop:pets_get/)

  t.match(await skillet(home, ['update', 'pet-shop', '--yes']), { status: 0, stdout: /pet-shop is up to date/ })
  t.equal(sent.at(-1), 304, 'a document that is as it was is not sent again')
  // Another operation whose name would be the same comes first.
  Object.assign(document['paths'] as object, {
    '/a': { get: { operationId: 'pets.get' } },
    '/b': { get: { operationId: 'pets get' } }
  })
  t.match(await skillet(home, ['update', 'pet-shop', '--yes']), { status: 0, stdout: /pet-shop is updated/ })
  const { skills } = JSON.parse((await skillet(home, ['list', '--json'])).stdout) as {
    skills: { name: string; tools: { name: string }[] }[]
  }
  const names = skills.find(({ name }) => name === 'pet-shop')?.tools.map(({ name }) => name) ?? []
  t.same([names.length, new Set(names).size, names.includes('pets_get')], [4, 4, true])
  t.match(JSON.parse((await skillet(home, ['run', 'pet-shop:pets_get', 'id=7'])).stdout), { url: '/v1/pets/7' })
})

t.test("what can't be imported is refused by name, and nothing stays of it", async t => {
  const { server, home } = await startApi(t)
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(home.folder, name), text)
    return join(home.folder, name)
  }
  const paths = { '/a': { get: { operationId: 'a' } } }
  const plain = await write(
    'plain.json',
    JSON.stringify({ openapi: '3.0.0', info: { title: 'x', version: '1' }, paths })
  )
  const big = await write('big.json', ' '.repeat(52_428_801))
  for (const [args, message] of [
    [[plain], /plain\.json does not say where requests are sent; name it: --server/],
    [[plain, '--server', 'ftp://x'], /--server ftp:\/\/x is no address with http/],
    [[plain, '--server', 'https://x.example', '--filter', 'tag:none'], /none of the 1 operations .* fits tag:none/],
    [[plain, '--server', 'https://x.example', '--auth', 'magic'], /--auth magic is none of/],
    [[plain, '--server', 'https://x.example', '--as', 'No Name'], /can't be the name of a skill/],
    [[big], /big\.json has 52428801 bytes; the most is 52428800/],
    [[join(home.folder, 'none.json')], /none\.json/],
    [[`${server.url}/pets`], /is no OpenAPI document/],
    [['http://example.org/openapi.json'], /it can be changed on its way: use https/]
  ] as const) {
    const { status, stderr } = await skillet(home, ['import', 'openapi', ...args, '--yes'])
    t.not(status, 0)
    t.match(stderr, message)
  }
  // Of a document from elsewhere, files of this machine and other private places are not read.
  const refers = JSON.stringify({
    openapi: '3.0.0',
    info: { title: 'x', version: '1' },
    paths: {
      ...paths,
      '/b': { get: { parameters: [{ $ref: `${server.url}/secret.json` }, { $ref: '../outside.json' }] } }
    }
  })
  const before = server.asked.length
  const shown = await skillet(home, [
    'import',
    'openapi',
    await write('refers.json', refers),
    '--server',
    'https://x.example',
    '--as',
    'refers',
    '--yes'
  ])
  t.match(shown.stdout, /secret\.json.*is an address of this machine/s)
  t.match(shown.stdout, /outside\.json: /)
  t.equal(server.asked.length, before)
  t.same(
    Object.keys(
      (JSON.parse(await readFile(join(home.skills, 'refers', 'openapi.json'), 'utf8')) as { paths: object }).paths
    ),
    ['/a']
  )
})
