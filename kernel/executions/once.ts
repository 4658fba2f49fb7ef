import { createHash, createHmac } from 'node:crypto'
import type { Job, Once } from '../contracts/services.ts'
import { SkilletError } from '../lib/errors.ts'
import { sorted } from '../lib/sorted.ts'
import { givenOf } from './record.ts'

/**
 * Makes the storage's form of an idempotency key. Each caller has keys of its own. Only a hash of the key is stored,
 * and the fingerprint is made with the key itself, so that nobody can guess secret parameters from the file.
 * @param hours how long the key stands for its execution
 */
export function onceOf (idempotency_key: string, job: Job, hours: number): Once {
  const { skill, tool, key } = job
  const request = JSON.stringify([skill.name, tool.name, sorted(givenOf(job))])
  return {
    key: createHash('sha256').update(JSON.stringify([key, idempotency_key])).digest('hex'),
    fingerprint: createHmac('sha256', idempotency_key).update(request).digest('hex'),
    expires_ms: Date.now() + hours * 3_600_000
  }
}

/** The refusal of a key that stands for another request. */
export function otherRequest (execution_id: string): SkilletError {
  const message = 'The idempotency key was used for another request: another tool, or other parameters'
  return new SkilletError('CONFLICT', `${message}. Use a new key for a new request`, { execution_id })
}
