import { text as readAll } from 'node:stream/consumers'
import { search } from '@jmespath-community/jmespath'
import { RE2JS } from 're2js'
import { messageOf } from './errors.ts'
import { selectedMax, type Selecting, type Selection } from './select.ts'

/** The process that `select` starts: one question on standard input, one answer on standard output. */
const asked = JSON.parse(await readAll(process.stdin)) as Selecting // `select` wrote it
process.stdout.write(JSON.stringify(answer(asked)))

function answer ({ text, grep, jmespath }: Selecting): Selection {
  let chosen = text
  if (jmespath !== undefined) {
    let data
    try {
      data = JSON.parse(text)
    } catch {
      return { failure: 'jmespath was not applied: the output is not JSON' }
    }
    try {
      const found = search(data, jmespath)
      chosen = typeof found === 'string' ? found : JSON.stringify(found, undefined, 1)
    } catch (error) {
      return { failure: `jmespath was not applied: ${messageOf(error)}` }
    }
  }
  if (grep !== undefined) {
    const pattern = RE2JS.compile(grep)
    chosen = chosen.split('\n').filter(line => pattern.matcher(line).find()).join('\n')
  }
  return chosen.length > selectedMax ? { failure: `nothing was selected: it is longer than ${selectedMax} characters` } : { text: chosen }
}
