import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** How much of standard error is kept, in characters. */
const keptMax = 4_096
const lineMax = 300

/** Keeps the end of what a server writes to its standard error. */
export class LastWords {
  #text = ''

  constructor (stderr: Readable) {
    const decoder = new StringDecoder('utf8')
    stderr.on('data', (chunk: Buffer) => {
      this.#text = (this.#text + decoder.write(chunk.subarray(-keptMax))).slice(-keptMax)
    })
    stderr.on('error', () => {})
  }

  /** The last line that says something, without colours; empty when there is none. */
  get line (): string {
    // oxlint-disable-next-line no-control-regex
    const plain = this.#text.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '')
    const lines = plain.split('\n').map(line => line.trim()).filter(line => line !== '')
    // Node ends a report of an error with its own version.
    const telling = lines.findLast(
      line => /error|fail|invalid|cannot|can't|not found|usage|denied|missing|required/i.test(line)
    )
    const line = telling ?? lines.at(-1) ?? ''
    return line.length > lineMax ? `${line.slice(0, lineMax)}…` : line
  }
}
