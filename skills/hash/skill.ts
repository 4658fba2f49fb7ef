import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual, type Hash } from 'node:crypto'
import { defineSkill, type ToolContext } from '../../kernel/skill.ts'
import { Roots } from '../shared/roots.ts'

const algorithms = [
  'md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-256', 'sha3-512', 'blake2b512', 'blake2s256'
] as const
type Algorithm = typeof algorithms[number]
const encodings = ['hex', 'base64', 'base64url'] as const

/** The longest text, in characters. */
const textMax = 1_000_000
/** How much of a file is read at a time, and how often that is told, in bytes. */
const chunkBytes = 1_048_576
const progressBytes = 16 * chunkBytes

const text =
  { type: 'string', description: 'The text; it is hashed as UTF-8', required: true, maxLength: textMax } as const
const path = {
  type: 'string',
  description: 'The file, within the folders that the skill files may look into: absolute, beginning with `~/`, or relative to the first of them (where Skillet runs, unless configured)',
  minLength: 1,
  maxLength: 4096
} as const
const algorithm = {
  type: 'string',
  description: 'The hash function. MD5 and SHA-1 detect accidents, not attacks',
  enum: algorithms,
  default: 'sha256'
} as const
const encoding = { type: 'string', description: 'How the result is written', enum: encodings, default: 'hex' } as const

export default defineSkill({
  tools: {
    text: {
      description: 'Hash a text: its digest (checksum) by MD5, SHA-1, SHA-2, SHA-3 or BLAKE2',
      annotations: { read_only: true },
      parameters: { text, algorithm, encoding },
      run: ({ text, algorithm, encoding }) => createHash(algorithm).update(text, 'utf8').digest(encoding)
    },

    file: {
      description: 'Hash a file of any size: its digest (checksum) by MD5, SHA-1, SHA-2, SHA-3 or BLAKE2',
      annotations: { read_only: true },
      parameters: { path: { ...path, required: true }, algorithm, encoding },
      timeout_ms: 600_000,
      run: async ({ path, algorithm, encoding }, context) => (await hashFile(path, algorithm, context)).digest(encoding)
    },

    verify: {
      description: 'Verify that a file or text is intact and unchanged: that it has the expected digest (checksum); fails when it has another',
      annotations: { read_only: true },
      parameters: {
        text: { ...text, required: false, description: 'The text to check; give either this or `path`' },
        path: { ...path, description: `${path.description}; give either this or \`text\`` },
        expected: {
          type: 'string',
          description: 'The digest it should have, in hex or base64',
          required: true,
          minLength: 16,
          maxLength: 256
        },
        algorithm: {
          type: 'string',
          description: 'The hash function; by default md5, sha1, sha224, sha256, sha384 or sha512 by the length of the digest',
          enum: algorithms
        }
      },
      timeout_ms: 600_000,
      async run ({ text, path, expected, algorithm }, context) {
        if ((text === undefined) === (path === undefined)) throw new Error('give either `text` or `path`')
        const digest = decode(expected)
        const used = algorithm ?? byLength[digest.length]
        if (used === undefined) {
          throw new Error(`a digest of ${digest.length} bytes is of no known hash function; name the algorithm`)
        }
        const actual = (
          path === undefined ? createHash(used).update(text ?? '', 'utf8') : await hashFile(path, used, context)
        ).digest()
        if (actual.length !== digest.length) {
          throw new Error(`a digest by ${used} has ${actual.length} bytes; the expected one has ${digest.length}`)
        }
        if (!timingSafeEqual(actual, digest)) {
          throw new Error(`the ${used} digest is ${actual.toString('hex')}, not the expected one`)
        }
        return { valid: true, algorithm: used }
      }
    },

    hmac: {
      description: 'Sign a text with a secret key (HMAC), such as the signature of a webhook or an API request',
      annotations: { read_only: true },
      parameters: {
        text,
        key: {
          type: 'string', description: 'The secret key', required: true, secret: true, minLength: 1, maxLength: 100_000
        },
        key_encoding: {
          type: 'string', description: 'How the key is written', enum: ['utf8', ...encodings], default: 'utf8'
        },
        algorithm,
        encoding
      },
      run: ({ text, key, key_encoding, algorithm, encoding }) =>
        createHmac(algorithm, Buffer.from(key, key_encoding)).update(text, 'utf8').digest(encoding)
    },

    uuid: {
      description: 'Generate unique identifiers (UUID, GUID): random ones (version 4), or ones that sort by the time they were made (version 7); one a line',
      annotations: { read_only: true },
      parameters: {
        version: { type: 'integer', description: 'Version of the UUIDs', enum: [4, 7], default: 4 },
        count: { type: 'integer', description: 'How many', default: 1, minimum: 1, maximum: 1000 }
      },
      run: ({ version, count }) => (
        version === 4 ? Array.from({ length: count }, () => randomUUID()) : Array.from({ length: count }, uuid7).sort()
      ).join('\n')
    },

    random: {
      description: 'Generate random bytes that nobody can guess: a password, a secret key or a token',
      annotations: { read_only: true },
      parameters: {
        bytes: { type: 'integer', description: 'How many bytes', default: 32, minimum: 1, maximum: 65_536 },
        encoding
      },
      run: ({ bytes, encoding }) => randomBytes(bytes).toString(encoding)
    }
  }
})

const byLength: Record<number, Algorithm> = {
  16: 'md5', 20: 'sha1', 28: 'sha224', 32: 'sha256', 48: 'sha384', 64: 'sha512'
}

/** A digest in hex, or else in base64 of either alphabet. */
function decode (digest: string): Buffer {
  const trimmed = digest.trim()
  if (/^(?:[0-9a-f]{2})+$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/_-]+={0,2}$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  throw new Error('the expected digest is neither hex nor base64')
}

/** Reads a file piece by piece; ends between two of them when the execution is cancelled. */
async function hashFile (path: string, algorithm: Algorithm, { config, signal, progress }: ToolContext): Promise<Hash> {
  const roots = await Roots.of(config)
  const { handle: file, stats } = await roots.open(await roots.real(path))
  try {
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`)
    const hash = createHash(algorithm)
    const buffer = Buffer.allocUnsafe(chunkBytes)
    let done = 0
    let told = 0
    for (;;) {
      signal.throwIfAborted()
      const { bytesRead } = await file.read(buffer, 0, chunkBytes)
      if (bytesRead === 0) return hash
      hash.update(buffer.subarray(0, bytesRead))
      done += bytesRead
      if (done - told >= progressBytes) progress(told = done, Math.max(stats.size, done), 'bytes hashed')
    }
  } finally {
    await file.close()
  }
}

function uuid7 (): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
