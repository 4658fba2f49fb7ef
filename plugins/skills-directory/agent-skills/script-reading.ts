import type { ScriptInterface } from './script-arguments.ts'

/** A module that a Python script imports. */
export interface PythonImport {
  /** The name, such as `a.b`; empty for `from . import c`. */
  module: string
  /** The names that are imported from it; they may be modules too. */
  names: string[]
  /** The number of leading dots in a relative import: 1 is the script's folder, 2 its parent. 0: an absolute import. */
  level: number
}

/** The packages and files that a module for Node.js imports. */
export interface NodeImports {
  packages: string[]
  files: string[]
}

/** The facts that are read from the source of a script, without running it. */
export interface ScriptReading {
  /** Whether the script does something when it is run; otherwise it is a library. */
  program: boolean
  /** The description of the script; may be empty. */
  about: string
  /** The usage, from the script or from the instructions. */
  usage?: string
  /** The arguments; absent when they can't be known without running the script. */
  interface?: ScriptInterface
  /** The minimum number of arguments, as far as it is known. */
  least: number
  /** Whether the script uses the whole list of its arguments, for example passes it on or loops over it. */
  passes: boolean
  reads_stdin: boolean
  /** The packages in its inline metadata (PEP 723); absent when it has none. */
  inline?: string[]
  /** The imports, in the form of the script's language. */
  imports?: { python: PythonImport[] } | { node: NodeImports }
}
