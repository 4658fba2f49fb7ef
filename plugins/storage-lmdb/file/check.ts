import { Content, type Sound } from './content.ts'
import { readMeta } from './layout.ts'
import { Damage, PageReader } from './reader.ts'
import { Walk } from './walk.ts'

/**
 * Reads the whole file: all pages of its trees, and all entries of its tables. Synchronous work, for a process that
 * does nothing else; nobody may write to the file meanwhile.
 * @throws Damage
 */
export async function checkWhole (file: string): Promise<Sound> {
  const reader = new PageReader(file)
  try {
    if (reader.bytes === 0) return { format: 0, executions: 0 }
    const meta = await readMeta(reader.readAt)
    if (typeof meta === 'string') throw new Damage(meta)
    const content = new Content()
    new Walk(reader, meta).run(content.add)
    return content.finish()
  } finally {
    reader.close()
  }
}
