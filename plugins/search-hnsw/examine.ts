import type { Finding } from '../../kernel/index.ts'
import { loadGraphs } from './meaning/graph.ts'
import { Model } from './meaning/model.ts'
import type { ThreadData } from './meaning/protocol.ts'
import { reasonOf } from './meaning/runtime.ts'

const about = 'search'

/**
 * Checks whether tools can be found by meaning on this system: whether the model and its libraries load. Nothing is
 * downloaded.
 */
export async function examine (data: ThreadData): Promise<Finding[]> {
  try {
    return [modelFinding(data, await Model.load({ ...data, allow_download: false })), ...await examineGraphs()]
  } catch (error) {
    if (data.allow_download) {
      return [{ level: 'note', about, text: `the model ${data.model} is not there yet; the first search downloads it` }]
    }
    return [{
      level: 'problem',
      about,
      text: `tools are found by words alone, since the model can't be used: ${reasonOf(error)}`,
      remedy: 'set search.model to a folder that holds a model, or to "none"'
    }]
  }
}

/** @param place the folder or name from which the model was loaded */
export function modelFinding (
  { model: place }: Pick<ThreadData, 'model'>,
  { dimensions, runtime: { name, reason } }: Pick<Model, 'dimensions' | 'runtime'>
): Finding {
  const text = `the model in ${place} loads: ${dimensions} numbers a text, by ${name}`
  if (reason === undefined) return { level: 'ok', about, text }
  return {
    level: 'note', about, text: `${text}, which takes five times as long as native code, since ${reason}`,
    remedy: 'for more speed, install Skillet again with the variable ONNXRUNTIME_NODE_INSTALL=skip: onnxruntime-node then downloads nothing, which failed and made npm leave it out'
  }
}

async function examineGraphs (): Promise<Finding[]> {
  try {
    await loadGraphs()
    return []
  } catch (error) {
    return [{
      level: 'note', about,
      text: `each query is compared with every tool, which takes a moment longer with thousands, since hnswlib-node can't be loaded: ${reasonOf(error)}`,
      remedy: 'with more than 10,000 tools, install python3, make and a C++ compiler, and then Skillet again'
    }]
  }
}
