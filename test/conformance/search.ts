import type { Test } from 'tap'
import type { SearchOptions } from '../../kernel/index.ts'
import { forTap, testSearch as suite, type SearchHarness } from '../../plugins/testing/index.ts'

export { searchable, shelf } from '../../plugins/testing/index.ts'

/** The suite of searches. */
export async function testSearch (
  t: Test,
  open: SearchHarness['open'],
  more: Partial<SearchOptions> = {}
): Promise<void> {
  await suite(forTap(t), { open, more })
}
