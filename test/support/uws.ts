/** Whether a package with uWebSockets.js has a binary for a version of Node on a Linux with a version of glibc. */
export function hasUws (node: string, glibc: string): boolean {
  const major = Number(node.split('.')[0])
  const [, minor = 0] = glibc.split('.').map(Number)
  return major === 20 || major === 22 || ((major === 24 || major === 25) && minor >= 38)
}

/** The version of glibc in a report of Node; empty where there is none. */
export function glibcOf (report: object): string {
  const header: unknown = 'header' in report ? report.header : undefined
  return typeof header === 'object' && header !== null && 'glibcVersionRuntime' in header
    ? String(header.glibcVersionRuntime)
    : ''
}
