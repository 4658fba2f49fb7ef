import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

/** The checkout. */
const root = new URL('../../../', import.meta.url)
const names = [
  'README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md',
  ...readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.md'))
    .map(file => `docs/${file}`)
]
const pages = new Map(names.map(name => [name, readFileSync(new URL(name, root), 'utf8')]))
/** The longest line of a page, in characters. */
const columns = 120

t.test('the README and the map of the code are short', async t => {
  const readme = pages.get('README.md') ?? ''
  t.ok(linesOf(readme) <= 150, `the README has ${linesOf(readme)} lines`)
  const architecture = (pages.get('ARCHITECTURE.md') ?? '').replace(/^## The map\n[\s\S]*?(?=^## )/m, '')
  t.ok(linesOf(architecture) <= 130, `ARCHITECTURE.md has ${linesOf(architecture)} lines beside its map`)
})

t.test('lines fit a page: tables, code and the targets of links may be longer', async t => {
  for (const [name, page] of pages) {
    const long = proseOf(page)
      .split('\n')
      .filter(line => !line.startsWith('|') && line.replaceAll(/\]\([^)]*\)/g, ']').length > columns)
    t.same(long, [], name)
  }
})

t.test('every link leads to a file, and to a heading of it', async t => {
  let links = 0
  for (const name of pages.keys()) {
    for (const { link, path, anchor } of linksOf(name)) {
      links++
      t.ok(existsSync(new URL(path, root)), `${name}: ${link}`)
      if (anchor !== undefined) t.ok(anchorsOf(path).has(anchor), `${name}: ${link}`)
    }
  }
  t.ok(links > 100)
})

t.test('every decision is in the list of decisions', async t => {
  const listed = new Set(linksOf('docs/decisions/README.md').map(({ path }) => path))
  const decisions = names.filter(name => /^docs\/decisions\/\d{4}-/.test(name))
  t.ok(decisions.length > 50)
  t.same(decisions.filter(name => !listed.has(name)), [])
  t.equal(
    new Set(decisions.map(name => name.slice(0, 'docs/decisions/0000'.length))).size,
    decisions.length,
    'no number stands twice'
  )
  for (const name of decisions) {
    t.match(pages.get(name), /^# [^\n]+\n\n## Context\n[\s\S]+\n## Decision\n[\s\S]+\n## Consequences\n/, name)
  }
})

t.test('the links of the packed pages lead to packed files', async t => {
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: fileURLToPath(root),
    maxBuffer: 2 ** 26
  })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  const packed = new Set(files.map(({ path }) => path))
  for (const name of ['README.md', 'SECURITY.md', 'docs/api.md']) t.ok(packed.has(name), name)
  for (const name of names.filter(name => packed.has(name))) {
    for (const { link, path } of linksOf(name)) {
      t.ok(packed.has(path) || files.some(file => file.path.startsWith(`${path}/`)), `${name}: ${link}`)
    }
  }
})

function linesOf (text: string): number {
  return text.trimEnd().split('\n').length
}

/** A page without its blocks of code. */
function proseOf (page: string): string {
  return page.replaceAll(/^ *(```+)[^\n]*\n[\s\S]*?^ *\1 *$/gm, '')
}

/** The links of a page to other pages and files, by their paths in the checkout. */
function linksOf (name: string): { link: string, path: string, anchor: string | undefined }[] {
  const links = [...proseOf(pages.get(name) ?? '').replaceAll(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
  return links.filter(link => !/^[a-z]+:/.test(link)).map(link => {
    const [file = '', anchor] = link.split('#')
    return { link, path: file === '' ? name : posix.join(posix.dirname(name), file).replace(/\/$/, ''), anchor }
  })
}

/** The anchors that the headings of a page have on the web. */
function anchorsOf (path: string): Set<string> {
  const headings = [...proseOf(pages.get(path) ?? '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map(heading => heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'))
  )
}
