/** Memory of the process; more than any limit where it can't be read, for want of a file descriptor. */
export function residentBytes (): number {
  try {
    return process.memoryUsage.rss()
  } catch {
    return Infinity
  }
}
