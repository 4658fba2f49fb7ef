import { isBuiltin } from 'node:module'
import { readOptions } from './node-options.ts'
import { childrenOf, NodeSource, type Node } from './node-source.ts'
import type { ScriptArgument } from './script-arguments.ts'
import { aboutOf, headComment } from './script-comments.ts'
import type { NodeImports, ScriptReading } from './script-reading.ts'
import { asksForOperands, placeholdersOf, usageIn } from './script-usage.ts'

/** Reads a script for Node.js without running it. @param mentionedUsage the usage that the instructions show */
export function readNode (text: string, mentionedUsage: string | undefined): ScriptReading {
  const source = new NodeSource(text)
  const calls = source.all(['CallExpression']).map(node => ({ node, ...source.call(node) }))
  const options = readOptions(source, calls, new Set(packagesOf(source)))
  const comment = headComment(text, '//')
  const usage = options?.usage ?? usageIn(comment) ?? printedUsage(source) ?? mentionedUsage
  const argv = options === undefined ? readArgv(source, usage) : undefined
  const asks = usage !== undefined && asksForOperands(usage)
  const args = options?.arguments ?? argv?.arguments
  return {
    program: options !== undefined || argv !== undefined || isMain(text) || acts(source),
    about: aboutOf(comment) || aboutOf(options?.description ?? ''),
    ...(usage !== undefined && { usage }),
    ...(args !== undefined && { interface: { arguments: args, dashes: options !== undefined } }),
    least: options?.needs === true ? 1 : argv === undefined ? 0 : Math.max(argv.least, asks ? 1 : 0),
    passes: argv?.arguments === undefined && argv !== undefined,
    imports: { node: importsIn(source) },
    reads_stdin: /\bprocess\.stdin\b|\/dev\/stdin|readFileSync\(\s*0\b/.test(text)
  }
}

/** The packages that a module imports, without the built-in modules of Node.js, and the files that it imports. */
export function importsOf (text: string): NodeImports {
  return importsIn(new NodeSource(text))
}

function importsIn (source: NodeSource): NodeImports {
  const names = specifiersOf(source)
  return {
    packages: [
      ...new Set(
        names.filter(name => !/^[./#]|^(?:node|data|file|https?):/.test(name) && !isBuiltin(name)).map(packageOf)
      )
    ],
    files: names.filter(name => /^\.\.?\//.test(name))
  }
}

function packageOf (specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function packagesOf (source: NodeSource): string[] {
  return specifiersOf(source)
    .filter(name => !name.startsWith('.'))
    .map(packageOf)
}

function specifiersOf (source: NodeSource): string[] {
  return source.all(['ImportDeclaration', 'ExportDeclaration', 'CallExpression', 'DynamicImport']).flatMap(node => {
    if (isTried(node)) return []
    if (node.name === 'CallExpression') {
      const { callee, callArgs } = source.call(node)
      return callee === 'require' || callee === 'import' ? (source.string(callArgs[0]) ?? []) : []
    }
    if (/^(?:import|export)\s+type\b/.test(source.of(node))) return []
    return source.string(node.getChild('String')) ?? []
  })
}

/** Whether an import is within a `try` statement: the script can run without the package. */
function isTried (node: Node): boolean {
  for (let at = node.parent; at !== null; at = at.parent) if (at.name === 'TryStatement') return true
  return false
}

/** Whether the source distinguishes being run from being imported. */
function isMain (text: string): boolean {
  if (/\brequire\.main\s*===?\s*module\b|\bmodule\s*===?\s*require\.main\b/.test(text)) return true
  return /\bimport\.meta\.main\b|\bprocess\.argv\s*\[\s*1\s*\]/.test(text)
}

/**
 * Whether the top level of the source does something. A module that exports something may only prepare its exports.
 */
function acts (source: NodeSource): boolean {
  const statements = childrenOf(source.root)
  const exports =
    statements.some(({ name }) => name === 'ExportDeclaration')
    || /\b(?:module\.)?exports\b(?:\.\w+)?\s*=/.test(source.text)
  const doing = statements
    .filter(({ name }) =>
      ['ExpressionStatement', 'ForStatement', 'WhileStatement', 'IfStatement', 'TryStatement'].includes(name)
    )
    .filter(
      node =>
        !/^(?:['"]|module\.exports|exports\b|Object\.defineProperty\(\s*(?:module\.)?exports)/.test(source.of(node))
    )
  if (!exports) return doing.length > 0
  return doing.some(node => {
    const begun = /^(?:await\s+|void\s+)?(?:main|run|start|cli|console\.\w+)\s*\(|^process\.(?:stdout|exit)/
    return begun.test(source.of(node)) || /^\(\s*(?:async\b|\()/.test(source.of(node))
  })
}

/** The usage in a printed text, such as `console.error('Usage: …')`. */
function printedUsage (source: NodeSource): string | undefined {
  for (const node of source.all(['String', 'TemplateString'])) {
    const usage = /usage\s*:/i.test(source.of(node)) ? usageIn(source.string(node) ?? '') : undefined
    if (usage !== undefined) return usage
  }
  return undefined
}

/** The arguments of a script that reads `process.argv` itself; undefined when it does not. */
function readArgv (
  source: NodeSource,
  usage: string | undefined
): { arguments: ScriptArgument[] | undefined, least: number } | undefined {
  const argvNodes = source.all(['MemberExpression']).filter(node => source.of(node) === 'process.argv')
  if (argvNodes.length === 0) return undefined
  const names = new Map<number, { name: string, optional: boolean }>()
  let least = 0
  let passes = false
  for (const node of argvNodes) {
    const { parent } = node
    const [, index] =
      /^\s*\[\s*(\d+)\s*\]$/.exec(parent === null ? '' : source.of({ from: node.to, to: parent.to })) ?? []
    const guard = leastBy(source, node)
    const pattern = patternOf(source, node)
    if (index !== undefined && Number(index) >= 2)
      names.set(Number(index) - 1, {
        name: names.get(Number(index) - 1)?.name ?? assignedTo(source, parent) ?? '',
        optional: isOptional(source, parent)
      })
    else if (guard !== undefined) least = Math.max(least, guard)
    else if (pattern !== undefined) for (const [place, declared] of pattern) names.set(place, declared)
    else if (index === undefined) passes = true
  }
  least = Math.max(
    least,
    ...[...names].filter(([, { name, optional }]) => !optional && isRefused(source, name)).map(([place]) => place)
  )
  const count = Math.max(0, ...names.keys())
  const placeholders = usage === undefined ? [] : placeholdersOf(usage)
  const list = Array.from({ length: count }).flatMap((_, i): ScriptArgument[] => {
    const shown = placeholders.length === count ? placeholders[i] : undefined
    const name = names.get(i + 1)?.name || shown?.name
    return name === undefined
      ? []
      : [{ name, kind: 'positional', type: 'string', description: shown?.text ?? name, required: i < least }]
  })
  return { arguments: !passes && count > 0 && list.length === count ? list : undefined, least }
}

/** The minimum number of arguments by a test such as `process.argv.length < 4`, if the script ends when it is true. */
function leastBy (source: NodeSource, { parent }: Node): number | undefined {
  if (parent === null || !/^process\.argv\.length$/.test(source.of(parent))) return undefined
  const statement = parent.parent?.parent?.parent
  const leaves = statement?.name === 'IfStatement' && /process\.exit|throw|return/.test(source.of(statement))
  const [, operator, number] =
    /^process\.argv\.length\s*(<=?|!==?|===?)\s*(\d+)$/.exec(parent.parent === null ? '' : source.of(parent.parent))
    ?? []
  if (number === undefined || !leaves) return 0
  return Math.max(0, Number(number) - 2 + (operator === '<=' || operator?.startsWith('==') === true ? 1 : 0))
}

/** Reads `const [,, input, output = 'x'] = process.argv` and `const [input] = process.argv.slice(2)`. */
function patternOf (source: NodeSource, node: Node): Map<number, { name: string, optional: boolean }> | undefined {
  const call = node.parent?.name === 'MemberExpression' ? node.parent.parent : undefined
  const sliced = call?.name === 'CallExpression' && source.of(call) === 'process.argv.slice(2)'
  const declaration = (sliced ? call : node).parent
  const pattern = declaration?.name === 'VariableDeclaration' ? declaration.getChild('ArrayPattern') : null
  if (pattern === null || pattern.getChild('Spread') !== null) return undefined
  const names = new Map<number, { name: string, optional: boolean }>()
  let place = sliced ? 1 : -1
  for (const child of childrenOf(pattern)) {
    if (child.name === ',') place++
    else if (child.name === 'VariableDefinition' && place >= 1)
      names.set(place, { name: source.of(child), optional: child.nextSibling?.name === 'Equals' })
  }
  return names
}

function assignedTo (source: NodeSource, node: Node | null): string | undefined {
  const declaration = node?.parent?.name === 'BinaryExpression' ? node.parent.parent : node?.parent
  const target = declaration?.name === 'VariableDeclaration' ? declaration.getChild('VariableDefinition') : null
  return target === null ? undefined : source.of(target)
}

function isOptional (source: NodeSource, node: Node | null): boolean {
  const parent = node?.parent
  return (
    parent?.name === 'BinaryExpression' && /^\s*(?:\?\?|\|\|)/.test(source.of({ from: node?.to ?? 0, to: parent.to }))
  )
}

/**
 * Whether the script ends when a value is missing: `if (!input) { … process.exit(1) }`. A script may need a value
 * without such a test, too.
 */
function isRefused (source: NodeSource, name: string): boolean {
  if (name === '') return true
  const guards = source
    .all(['IfStatement'])
    .filter(node => new RegExp(`^if\\s*\\([^{]*!\\s*${name.replaceAll('$', '\\$')}\\b`).test(source.of(node)))
  return guards.length === 0 || guards.some(node => /process\.exit|throw|return/.test(source.of(node)))
}
