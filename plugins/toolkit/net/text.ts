/** How far into a page its encoding is looked for, in bytes, as browsers do. */
const sniffBytes = 1024

const marks: readonly [string, readonly number[]][] =
  [['utf-8', [0xef, 0xbb, 0xbf]], ['utf-16be', [0xfe, 0xff]], ['utf-16le', [0xff, 0xfe]]]

/** The type of a body, such as `text/html`: the first part of its Content-Type. */
export function typeOf (content_type: string): string {
  return (content_type.split(';', 1)[0] ?? '').trim().toLowerCase()
}

/**
 * A body as text. Its encoding is what a byte order mark says, else the Content-Type, else the page itself, else UTF-8.
 * What is not valid in it becomes U+FFFD; a character that was cut off at the end is left out.
 */
export function decodeText (body: Buffer, content_type: string): { text: string, charset: string } {
  const mark = marks.find(([, bytes]) => bytes.every((byte, i) => body[i] === byte))?.[0]
  const [, named] = /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(content_type) ?? []
  const decoder = decoderOf(mark ?? named ?? declared(body, typeOf(content_type)))
  return { text: decoder.decode(body, { stream: true }), charset: decoder.encoding }
}

function decoderOf (label: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder() // an encoding that nobody knows
  }
}

/** `<meta charset>`, or the declaration of XML. A page that can be read so far is not in UTF-16, whatever it says. */
function declared (body: Buffer, type: string): string {
  if (!/html|xml/.test(type)) return 'utf-8'
  const head = body.toString('latin1', 0, sniffBytes)
  const [, label = 'utf-8'] = /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)
    ?? /^<\?xml[^>]+encoding\s*=\s*["']([\w:.-]+)/i.exec(head)
    ?? []
  return /^utf-?16/i.test(label) ? 'utf-8' : label
}

/** Media types of text. */
const textTypes =
  /^text\/|[/+](json|xml|yaml|javascript|ecmascript|x-www-form-urlencoded|graphql|toml|sql|x-ndjson|jsonl)$/

/** Whether a body is text, by what it says it is, or else by its bytes. */
export function isText (body: Buffer, content_type: string): boolean {
  const type = typeOf(content_type)
  if (textTypes.test(type)) return true
  if (type !== '' && type !== 'application/octet-stream') return false
  return !body.subarray(0, 8192).includes(0)
    && !new TextDecoder().decode(body.subarray(0, 8192), { stream: true }).includes('\uFFFD')
}
