/**
 * Runs an async function for every item, with a maximum number at the same time: so a file system can work in parallel,
 * without a thousand open files.
 * @returns the results, in the order of the items
 */
export async function mapAtMost<T, R> (max: number, items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, async () => {
    for (const [index, item] of left) results[index] = await work(item)
  }))
  return results
}
