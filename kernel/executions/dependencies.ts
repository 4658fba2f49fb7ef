import type { Bus } from '../contracts/bus.ts'
import type { Config } from '../contracts/config.ts'
import type { Executor } from '../contracts/executor.ts'
import type { Storage } from '../contracts/storage.ts'
import type { Logger } from '../lib/log.ts'
import type { Processes } from '../lib/process-identity.ts'
import type { OutputFiles } from './output-files.ts'
import type { Secrets } from '../secrets/secrets.ts'

/** What the runner of executions needs. */
export interface Dependencies {
  config: Config
  storage: Storage
  executors: ReadonlyMap<string, Executor>
  secrets: Secrets
  /** Files and folders that must be refused by tools which read files for callers. */
  private_paths: readonly string[]
  bus: Bus
  log: Logger
  /** Keeps the outputs that are too large for a record; where it is absent, they are cut. */
  files?: Pick<OutputFiles, 'overflows' | 'keep'>
  /** The processes that can share the storage; default: those of this machine. */
  processes?: Processes
}
