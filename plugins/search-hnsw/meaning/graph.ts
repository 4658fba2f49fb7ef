import type { MakeGraph } from './vectors.ts'

/**
 * Loads hnswlib-node. Only this file uses it.
 * @throws Error when it can't be loaded
 */
export async function loadGraphs (): Promise<MakeGraph> {
  const { default: { HierarchicalNSW } } = await import('hnswlib-node')
  return (dimensions, elements) => {
    const graph = new HierarchicalNSW('ip', dimensions)
    graph.initIndex({ maxElements: elements, m: 16, efConstruction: 100, randomSeed: 1 })
    graph.setEf(80)
    return graph
  }
}
