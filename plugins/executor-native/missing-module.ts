import { type ScriptNeeds } from '../../kernel/index.ts'
import { pythonPackageOf } from '../toolkit/python-packages.ts'

/** A module that a script did not find, and the command that installs a package with it. */
export interface MissingModule {
  module: string
  install: string
}

/**
 * Finds the name of a missing module in standard error; undefined when there is none, or when no package with it is
 * known.
 */
export function moduleMissing (stderr: string, script: ScriptNeeds | undefined): MissingModule | undefined {
  if (script === undefined) return undefined
  const { language, interpreter, modules } = script
  if (language === 'python') {
    const [, name = ''] = /^(?:ModuleNotFoundError|ImportError): No module named ['"]?([\w.]+)/m.exec(stderr) ?? []
    const [module = ''] = name.split('.')
    const brings = Object.hasOwn(modules, module) ? modules[module] : pythonPackageOf(module)
    if (module === '' || brings === undefined) return undefined
    const [command = 'python3'] = interpreter
    const install =
      command === 'uv'
        ? `add "${brings}" to the dependencies in the head of ${script.file}`
        : `${command} -m pip install ${quoted(brings)}`
    return { module, install }
  }
  const [, name = ''] = /Cannot find (?:package|module) '([^'./][^']*)'/.exec(stderr) ?? []
  const module = name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
  if (module === '' || !Object.hasOwn(modules, module)) return undefined
  return {
    module,
    install: `npm install --prefix ${quoted(script.file.slice(0, script.file.lastIndexOf('/')))} ${module}`
  }
}

/** Quotes a text for a shell. */
function quoted (text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
