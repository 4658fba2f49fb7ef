import type { Lease, ProcessIdentity } from '../../kernel/index.ts'

/** The roles of the storage contract, in memory. */
export class MemoryRoles {
  readonly #leases = new Map<string, Lease>()

  async claim (role: string, claim: Lease, isAlive: (owner: ProcessIdentity) => boolean): Promise<Lease | undefined> {
    const holder = this.#leases.get(role)
    if (holder !== undefined && !isSame(holder.owner, claim.owner) && isAlive(holder.owner)) {
      return structuredClone(holder)
    }
    this.#leases.set(role, structuredClone(claim))
    return undefined
  }

  async holder (role: string): Promise<Lease | undefined> {
    return structuredClone(this.#leases.get(role))
  }

  async release (role: string, owner: ProcessIdentity): Promise<void> {
    const holder = this.#leases.get(role)
    if (holder !== undefined && isSame(holder.owner, owner)) this.#leases.delete(role)
  }
}

export function isSame (a: ProcessIdentity, b: ProcessIdentity): boolean {
  return a.pid === b.pid && a.started === b.started
}
