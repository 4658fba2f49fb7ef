import { readFileSync } from 'node:fs'

/** The version of the running program. The build writes it beside the compiled kernel. */
export interface Version {
  /** The version in package.json. */
  version: string
  /** The commit of the build; `unknown` outside a checkout. */
  commit: string
  /** The date of the build, as YYYY-MM-DD. */
  build_date: string
}

/** Reads the build's `build-info.json`. @throws Error when the program was not built by `npm run build` */
export function readVersion (): Version {
  const info: unknown = JSON.parse(readFileSync(new URL('../../build-info.json', import.meta.url), 'utf8'))
  if (typeof info === 'object' && info !== null && 'version' in info && 'commit' in info && 'build_date' in info) {
    return { version: String(info.version), commit: String(info.commit), build_date: String(info.build_date) }
  }
  throw new Error('build-info.json is not what the build writes; run `npm run build`')
}
