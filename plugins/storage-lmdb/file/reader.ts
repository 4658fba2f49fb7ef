import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { headerBytes, headerOf, pageKinds, type Header, type Node, type ReadAt } from './layout.ts'

/** A page with its number and header. */
export interface Page { bytes: Buffer, header: Header }

/** Damage of the file, for the user: what is wrong with which page. */
export class Damage extends Error {}

/**
 * Reads pages of an LMDB file without LMDB, so that nothing in the file can end the process. Synchronous: for processes
 * that do nothing else. Close it at the end.
 */
export class PageReader {
  /** In bytes, when it was opened. */
  readonly bytes: number
  readonly #descriptor: number

  constructor (file: string) {
    this.#descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    this.bytes = fstatSync(this.#descriptor).size
  }

  readonly readAt: ReadAt = async (position, length) => this.#read(position, length)

  /** @throws Damage when the page is not in the file, or another one is in its place */
  page (number: bigint, size: number): Page {
    const bytes = this.#read(Number(number) * size, size)
    if (bytes === undefined) throw new Damage(`page ${number} is past the end of the file`)
    const header = headerOf(bytes)
    if (header.page !== number) throw new Damage(`page ${number} says that it is page ${header.page}`)
    return { bytes, header }
  }

  /**
   * The value of a node in overflow pages.
   * @returns with it, the first of these pages and their number
   * @throws Damage when the pages are not these of the node
   */
  overflow ({ value, size }: Node, pageSize: number): { value: Buffer, first: bigint, pages: number } {
    const first = value.readBigUInt64LE(0)
    const pages = Math.ceil((headerBytes + size) / pageSize)
    const storedPages = value.readBigUInt64LE(16)
    if (first < 2n || Number(first) * pageSize > this.bytes) {
      throw new Damage(`a value is in page ${first}, past the end of the file`)
    }
    if (storedPages !== BigInt(pages)) throw new Damage(`a value of ${size} bytes has ${storedPages} pages`)
    const bytes = this.#read(Number(first) * pageSize, headerBytes + size)
    if (bytes === undefined) throw new Damage(`the value in page ${first} goes past the end of the file`)
    const header = headerOf(bytes)
    if (header.page !== first || header.kind !== pageKinds.overflow || header.pages !== pages) {
      throw new Damage(`page ${first} does not begin a value of ${pages} pages`)
    }
    return { value: bytes.subarray(headerBytes), first, pages }
  }

  close (): void {
    closeSync(this.#descriptor)
  }

  #read (position: number, length: number): Buffer | undefined {
    if (position + length > this.bytes) return undefined
    const buffer = Buffer.allocUnsafe(length)
    return readSync(this.#descriptor, buffer, 0, length, position) === length ? buffer : undefined
  }
}
