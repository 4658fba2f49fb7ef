import { readFileSync } from 'node:fs'
import t from 'tap'

// Each line of the tables of attacks in SECURITY.md has its test: the files and the tests that they name are there.

const text = readFileSync('SECURITY.md', 'utf8')
/** The files by the letter that the tables use. */
const files = new Map(Array.from(
  text.matchAll(/`(test\/[\w./-]+\.test\.ts)`\s+\((\w)\)/g), ([, path = '', letter = '']) => [letter, path]
))
const read = (path: string): string => readFileSync(path, 'utf8')

/** The lines of the table whose head begins with these words, cell by cell. */
function tableOf (head: string): string[][] {
  const [, table = ''] = text.split(`\n| ${head} |`)
  const lines = table.split('\n').slice(2)
  const end = lines.findIndex(line => !line.startsWith('|'))
  return lines.slice(0, end).map(line => line.split('|').slice(1, -1).map(cell => cell.trim()))
}

t.test('every file of tests that the page names is there', async t => {
  const paths = new Set(Array.from(text.matchAll(/`(test\/[\w./-]+)`/g), ([, path = '']) => path))
  t.ok(paths.size >= 8)
  for (const path of paths) if (!path.endsWith('/')) t.doesNotThrow(() => read(path), path)
  t.same([...files.keys()].sort(), ['F', 'M', 'S', 'T', 'W', 'X', 'Y'])
})

t.test('each line on commands names files of the legend only', async t => {
  const lines = tableOf('a command')
  t.ok(lines.length >= 15)
  for (const cells of lines) {
    t.equal(cells.length, 4, String(cells[0]))
    for (const [, letter = ''] of cells.join().matchAll(/\(([A-Z])\)/g)) {
      t.ok(files.has(letter), `${cells[0]}: ${letter}`)
    }
  }
})

t.test('each line on scripts names a test that is there', async t => {
  const lines = tableOf('a script')
  t.ok(lines.length >= 12)
  for (const [attack, , , , named = ''] of lines) {
    const [letter = '', title = ''] = named.split(': ')
    const source = read(files.get(letter) ?? '')
    t.ok(source.includes(`t.test('${title}`) || source.includes(`t.test(\`${title}`), `${attack}: ${named}`)
  }
})
