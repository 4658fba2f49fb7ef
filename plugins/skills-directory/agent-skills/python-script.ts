import { parse } from 'smol-toml'
import { readArgparse, type ParserReading } from './python-argparse.ts'
import { readArgv } from './python-argv.ts'
import { readClick } from './python-click.ts'
import { childrenOf, PythonSource, type Node } from './python-source.ts'
import { skeletonOf } from './python-skeleton.ts'
import { aboutOf, headComment } from './script-comments.ts'
import type { PythonImport, ScriptReading } from './script-reading.ts'
import { asksForOperands, usageIn } from './script-usage.ts'

/** Other argument parsers. Their options can't be read from the source alone. */
const otherParsers = new Set([
  'typer.run', 'typer.Typer', 'fire.Fire', 'OptionParser', 'optparse.OptionParser', 'getopt.getopt',
  'getopt.gnu_getopt', 'docopt', 'absl.app.run', 'app.run'
])
/** Calls that only prepare something; libraries make such calls when they are imported. */
const preparing = new Set([
  'sys.path', 'sys.stdout', 'sys.stderr', 'os.environ', 'logging', 'logger', 'log', 'warnings', 'locale', 'signal',
  'atexit', 'matplotlib', 'plt', 'np', 'numpy', 'pd', 'pandas', 'torch', 'random', 'load_dotenv', 'dotenv', 'register'
])

function prepares (call: string): boolean {
  const [first = '', second = ''] = call.split('.')
  return preparing.has(first) || preparing.has(`${first}.${second}`)
}

/** Reads a Python script without running it. @param mentionedUsage the usage that the instructions show */
export function readPython (text: string, mentionedUsage: string | undefined): ScriptReading {
  const source = new PythonSource(skeletonOf(text))
  const calls = source.all(['CallExpression']).map(node => ({ node, call: source.call(node) }))
  const parser = readArgparse(source, calls) ?? readClick(source)
  const own = usageOf(source, parser, calls)
  const argv = parser === undefined ? readArgv(source, own ?? mentionedUsage) : undefined
  const other = calls.some(({ call }) => otherParsers.has(call.name))
  const usage = own ?? mentionedUsage
  const unread = parser === undefined && !other && usage !== undefined && asksForOperands(usage) ? 1 : 0
  return {
    program: parser !== undefined || other || isGuarded(source) || acts(source),
    about: aboutOf(source.docstring ?? '') || aboutOf(parser?.description ?? '') || aboutOf(headComment(text, '#')),
    ...(usage !== undefined && { usage }),
    ...interfaceOf(parser, argv),
    least: parser?.needs === true ? 1 : Math.max(argv?.least ?? 0, argv === undefined ? 0 : unread),
    passes: argv?.passes ?? false,
    reads_stdin: /\b(?:sys\.stdin|fileinput|input\s*\(|\/dev\/stdin)/.test(text),
    ...inlineMetadata(text),
    imports: { python: importsIn(source) }
  }
}

function interfaceOf (
  parser: ParserReading | undefined,
  argv: ReturnType<typeof readArgv>
): Pick<ScriptReading, 'interface'> {
  if (parser?.arguments !== undefined) return { interface: { arguments: parser.arguments, dashes: true } }
  if (argv?.arguments !== undefined) return { interface: { arguments: argv.arguments, dashes: false } }
  return {}
}

/** The usage of the script: from its argument parser, its docstring, or a text that it prints. */
function usageOf (
  source: PythonSource,
  parser: ParserReading | undefined,
  calls: readonly { call: ReturnType<PythonSource['call']> }[]
): string | undefined {
  if (parser?.usage !== undefined) return parser.usage.replaceAll('%(prog)s', 'script')
  const documented = source.docstring === undefined ? undefined : usageIn(source.docstring)
  if (documented !== undefined && !/^(?:from|import)\s/.test(documented)) return documented
  if (parser !== undefined) return undefined
  for (const {
    call: { positional }
  } of calls) {
    for (const node of positional) {
      const usage = usageIn(source.string(node) ?? '')
      if (usage !== undefined) return usage
    }
  }
  return undefined
}

/** Whether `if __name__ == "__main__":` has a body that does something: a library may only raise an error there. */
function isGuarded (source: PythonSource): boolean {
  return source.root.getChildren('IfStatement').some(node => {
    if (!/^if\s*\(?\s*(?:__name__\s*==\s*(['"])__main__\1|(['"])__main__\2\s*==\s*__name__)/.test(source.of(node)))
      return false
    const body = node.getChild('Body')
    return (
      body !== null
      && childrenOf(body).some(({ name }) => ![':', 'Comment', 'RaiseStatement', 'PassStatement'].includes(name))
    )
  })
}

/**
 * Whether the source does something outside functions: it prints, reads arguments, or makes a call that does not only
 * prepare something.
 */
function acts (source: PythonSource): boolean {
  const outside = (node: Node): boolean => {
    for (let at = node.parent; at !== null; at = at.parent)
      if (['FunctionDefinition', 'ClassDefinition', 'LambdaExpression', 'Decorator'].includes(at.name)) return false
    return true
  }
  return source.all(['CallExpression', 'MemberExpression']).some(node => {
    if (!outside(node)) return false
    if (node.name === 'MemberExpression') return source.of(node) === 'sys.argv'
    const { name } = source.call(node)
    return (
      /^(?:print|input|main|run|sys\.exit|exit|quit|asyncio\.run)$/.test(name)
      || (node.parent?.name === 'ExpressionStatement' && !prepares(name))
    )
  })
}

/** The dependencies of inline metadata (PEP 723): `# /// script`. */
function inlineMetadata (text: string): { inline?: string[] } {
  const [, block] = /^# \/\/\/ script[ \t]*\r?\n((?:#(?: .*)?\r?\n)*?)# \/\/\/[ \t]*$/m.exec(text) ?? []
  if (block === undefined) return {}
  try {
    const { dependencies } = parse(block.replace(/^# ?/gm, ''))
    return { inline: Array.isArray(dependencies) ? dependencies.filter(name => typeof name === 'string') : [] }
  } catch {
    return {} // invalid TOML: the program that runs the script reports it
  }
}

/** The modules that a script needs, without optional imports and imports for types only. */
export function importsOf (text: string): PythonImport[] {
  return importsIn(new PythonSource(skeletonOf(text)))
}

function importsIn (source: PythonSource): PythonImport[] {
  return source
    .all(['ImportStatement'])
    .filter(node => !isOptional(source, node))
    .flatMap(node => readImport(source.of(node)))
}

function isOptional (source: PythonSource, node: Node): boolean {
  for (let at = node.parent; at !== null; at = at.parent) {
    if (
      at.name === 'TryStatement'
      && /except(?:\s*:|[^:\n]*\b(?:ImportError|ModuleNotFoundError|Exception)\b)/.test(source.of(at))
    )
      return true
    if (at.name === 'IfStatement' && /^if\s+(?:typing\.)?TYPE_CHECKING\b/.test(source.of(at))) return true
  }
  return false
}

function readImport (statement: string): PythonImport[] {
  const text = statement
    .replaceAll(/#[^\n]*/g, '')
    .replaceAll(/[\\()\s]+/g, ' ')
    .trim()
  const named = (list: string): string[] =>
    list
      .split(',')
      .map(item => item.trim().split(' ')[0] ?? '')
      .filter(name => /^[\w.]+$/.test(name))
  const [, dots, module = '', names = ''] =
    /^from (\.*) ?([\w.]*) import (.*)$/.exec(text.replaceAll(/\. (?=\.)/g, '.')) ?? []
  if (dots !== undefined) return [{ module, names: named(names), level: dots.length }]
  return named(text.replace(/^import /, '')).map(module => ({ module, names: [], level: 0 }))
}
