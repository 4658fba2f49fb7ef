/** The functions that a skill's code exports. */
export interface SkillModule {
  getMetadata?: () => unknown
  getTools: () => unknown
  executeTool: (name: string, args: unknown) => unknown
  validateConfig?: (config: unknown) => unknown
  /** Whether it is made by the kit of the engine, which takes arguments as pairs of texts. */
  kit: boolean
}

/**
 * Finds the functions of a loaded module: named exports, or a default export that has them.
 * @throws Error naming the missing export
 */
export function skillModuleOf (namespace: unknown): SkillModule {
  const named = isTable(namespace) ? namespace : {}
  const kit = typeof named['getTools'] !== 'function' && isTable(named['default'])
    && typeof named['default']['getTools'] === 'function'
  const exported = kit ? named['default'] as Record<string, unknown> : named
  for (const name of ['getTools', 'executeTool']) {
    if (typeof exported[name] !== 'function') throw new Error(`it has no export ${name}, which must be a function`)
  }
  const call = (name: string) => (...args: unknown[]): unknown => {
    const run = exported[name]
    return typeof run === 'function' ? Reflect.apply(run, exported, args) as unknown : undefined
  }
  return {
    kit,
    getTools: call('getTools'),
    executeTool: call('executeTool'),
    ...(typeof exported['getMetadata'] === 'function' && { getMetadata: call('getMetadata') }),
    ...(typeof exported['validateConfig'] === 'function' && { validateConfig: call('validateConfig') })
  }
}

function isTable (value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null
}

/** A value that may be JSON text: parsed where it is. */
export function parsedValue (value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}
