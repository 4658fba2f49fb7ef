import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { getEntry, setEntry } from '../../plugins/cli/files/jsonc.ts'
import { makeHome, skillet } from '../support/program.ts'

const entry = { command: 'node', args: ['main.js', 'mcp'] }

t.test('an entry is set in any JSON object, and all else stays', async () => {
  const key = fc.string({ minLength: 1 }).filter(name => name !== '__proto__')
  const file = fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true })
  fc.assert(fc.property(
    file,
    fc.option(fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true })),
    fc.constantFrom(undefined, '  ', '\t'),
    (others, servers, indent) => {
      const before = { ...others, ...(servers !== null && { servers }) }
      if (servers === null) delete before['servers']
      const after: unknown =
        JSON.parse(setEntry(JSON.stringify(before, undefined, indent), 'servers', 'skillet', entry))
      return JSON.stringify(sorted(after))
        === JSON.stringify(sorted({ ...before, servers: { ...servers, skillet: entry } }))
    }
  ), { numRuns: 500 })
})

function sorted (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
      Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([name, inner]) => [name, sorted(inner)])
    )
    : value
}

t.test('comments, trailing commas and the order of a file stay', async t => {
  const text = `// my servers
{
    /* those "of the team": { */
    "servers": {
        "other": { "url": "http://localhost/a//b", }, // mine
    },
    "inputs": []
}
`
  const changed = setEntry(text, 'servers', 'skillet', entry)
  t.equal(changed, text.replace('b", }, // mine', `b", }, // mine
        "skillet": {
            "command": "node",
            "args": [
                "main.js",
                "mcp"
            ]
        },`))
  t.same(getEntry(changed, 'servers', 'skillet'), entry)
  t.match(
    setEntry(changed, 'servers', 'skillet', { command: 'deno' }),
    /\/\/ mine\n +"skillet": \{\s+"command": "deno"\s+\},\n/,
    'its place stays its own'
  )
  for (const wrong of ['[]', '{', 'null', '{"servers": 5}', '{"a" 1}', '"text"', '{} {}']) {
    t.throws(() => setEntry(wrong, 'servers', 'skillet', entry), wrong)
  }
  t.match(setEntry('// nothing yet\n', 'servers', 'skillet', entry), /^\/\/ nothing yet\n\{/)
  t.throws(
    () => setEntry('{\n  "servers": {\n    "a": 1 "b": 2\n', 'servers', 'skillet', entry),
    { message: 'it is not JSON: line 3, column 12: comma expected' }
  )
  t.equal(
    setEntry('{"theme":"dark","servers":{"skillet":{}},"a":[1,]}\r\n', 'servers', 'skillet', {}),
    '{"theme":"dark","servers":{"skillet":{}},"a":[1,]}\r\n',
    'a line that holds all stays one'
  )
  const twice = '\ufeff{"servers": {"skillet": 1}, "servers": {"skillet": 2, "skillet": 3}}'
  t.equal(setEntry(twice, 'servers', 'skillet', {}), twice.replace('3', '{}'), 'the last of a name counts')
})

t.test('each client gets its file', async t => {
  const home = await makeHome()
  t.teardown(home.remove)
  for (const [client, key, path] of [
    ['claude-desktop', 'mcpServers', 'config/Claude/claude_desktop_config.json'],
    ['claude-code', 'mcpServers', '.mcp.json'],
    ['cursor', 'mcpServers', '.cursor/mcp.json'], ['vscode', 'servers', 'config/Code/User/mcp.json']
  ] as const) {
    const file = join(home.folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, JSON.stringify({
      [key]: { other: { command: 'x' }, ...(client === 'cursor' && { skillet: { command: 'old', env: { A: '1' } } }) },
      theme: 'dark'
    }), { mode: 0o644 })
    t.equal((await skillet(home, ['connect', client, '--', '--skills', '/s'])).status, 0)
    const after = JSON.parse(await readFile(file, 'utf8')) as Record<string, Record<string, unknown>>
    t.match(after, {
      [key]: {
        other: { command: 'x' },
        skillet: { command: process.execPath, args: [String, 'mcp', '--skills', '/s'] }
      },
      theme: 'dark'
    })
    if (client === 'cursor') {
      t.match(after, { mcpServers: { skillet: { env: { A: '1' } } } }, 'what the user added stays')
    }
    t.equal((await stat(file)).mode & 0o777, 0o644)
  }
  const file = join(home.folder, '.mcp.json')
  const printed = await skillet(home, ['connect', 'claude-code', '--print'])
  t.match(JSON.parse(printed.stdout), {
    mcpServers: { skillet: { type: 'stdio', command: process.execPath, args: [/main\.js$/, 'mcp'] } }
  })
  t.match(printed.stderr, file)
  await writeFile(file, '{ broken')
  const refused = await skillet(home, ['connect', 'claude-code'])
  t.equal(refused.status, 5)
  t.match(refused.stderr, `${file} was left as it is`)
  t.equal(await readFile(file, 'utf8'), '{ broken')
  t.match(await skillet(home, ['connect', 'emacs']), { status: 2, stderr: /there are claude-desktop/ })
  t.match(await skillet(home, ['connect', 'claude-desktop', '--project']), { status: 2 })
})
