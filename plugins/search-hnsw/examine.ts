import type { Finding } from '../../kernel/index.ts'
import { loadGraphs } from './graph.ts'
import { Model, reasonOf } from './model.ts'
import type { ThreadData } from './protocol.ts'

const about = 'search'

/** Whether tools can be found by their meaning here: whether the model and the libraries for it load. Nothing is downloaded. */
export async function examine (data: ThreadData): Promise<Finding[]> {
  try {
    const { dimensions } = await Model.load({ ...data, allow_download: false })
    return [{ level: 'ok', about, text: `the model in ${data.model} loads: ${dimensions} numbers a text` }, ...await examineGraphs()]
  } catch (error) {
    if (data.allow_download) return [{ level: 'note', about, text: `the model ${data.model} is not there yet; the first search downloads it` }]
    return [{ level: 'problem', about, text: `tools are found by words alone, since the model can't be used: ${reasonOf(error)}`, remedy: 'Set search.model to a folder that holds a model, or to "none"; install again where a library is missing.' }]
  }
}

async function examineGraphs (): Promise<Finding[]> {
  try {
    await loadGraphs()
    return []
  } catch (error) {
    return [{ level: 'note', about, text: `each query is compared with every tool, which takes longer with thousands, since hnswlib-node can't be loaded: ${reasonOf(error)}` }]
  }
}
