import { availableParallelism } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { definePlugin, fromHome, type Search } from '../../kernel/index.ts'
import { Embedder } from './meaning/embedder.ts'
import { examine } from './examine.ts'
import { HybridSearch } from './hybrid-search.ts'
import type { ThreadData } from './meaning/protocol.ts'
import { declared, searchSection, type SearchSettings } from './settings.ts'

/** The folder of the bundled model, all-MiniLM-L6-v2. The build does not copy it, so it is in the source folder. */
const bundled = fileURLToPath(new URL('../../../plugins/search-hnsw/model', import.meta.url))
/** A model's name on the hub. The path of a folder begins with a sign that a name can't begin with. */
const hubName = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/

/** Search by words and by meaning: BM25, and the vectors of a small language model in a thread of its own. */
export default definePlugin({
  ...declared,
  slot: 'search',
  setup ({ config, scope, log, data_dir, cache, health }): Search {
    const settings = searchSection.of(config)
    const { model, preload } = settings
    if (model === 'none') return new HybridSearch(undefined)
    let reported: string | undefined
    const embedder = new Embedder({
      ...threadData(settings, data_dir), cache, log,
      onChange () {
        search.changed()
        if (embedder.reason === reported) return
        reported = embedder.reason
        if (reported === undefined) health.recover()
        else health.degrade(reported)
      }
    })
    scope.defer(() => embedder.close())
    const search = new HybridSearch(embedder)
    if (preload) search.prepare()
    return search
  },
  examine ({ config, data_dir }) {
    const settings = searchSection.of(config)
    if (settings.model !== 'none') return examine(threadData(settings, data_dir))
    return [{ level: 'ok', about: 'search', text: 'tools are found by words alone, as search.model says' }]
  }
})

function threadData ({ model, allow_download }: SearchSettings, data_dir: string): ThreadData {
  return { model: place(model), models_dir: join(data_dir, 'models'), allow_download, threads: threads() }
}

/** The absolute path of a model's folder, or its name on the hub. */
function place (model: string): string {
  if (model === '') return bundled
  const path = fromHome(model)
  return isAbsolute(path) || !hubName.test(path) ? resolve(path) : path
}

/** The threads for embedding: half of the cores, since the others answer requests; one text can't use more than 4. */
function threads (): number {
  return Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)))
}
