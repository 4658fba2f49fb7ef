import type { ScriptInterface } from './script-arguments.ts'

/** A module that a Python script imports. */
export interface PythonImport {
  /** `a.b`; empty for `from . import c`. */
  module: string
  /** What is imported from it, which may be modules as well. */
  names: string[]
  /** How many folders up it is looked for, from 1; 0: by its name. */
  level: number
}

/** What a module for Node.js imports: packages, and files beside it. */
export interface NodeImports {
  packages: string[]
  files: string[]
}

/** What the source of a script tells of it. Nothing of it is run. */
export interface ScriptReading {
  /** Whether it does something when it is run; others are libraries. */
  program: boolean
  /** What it says it is for; may be empty. */
  about: string
  /** How it is called, in its own words or those of the instructions. */
  usage?: string
  /** Its arguments; absent where only running it would tell. */
  interface?: ScriptInterface
  /** How many arguments it needs at least, as far as that is known. */
  least: number
  /** Whether it passes its arguments on, or looks through all of them. */
  passes: boolean
  reads_stdin: boolean
  /** The packages that it names itself (PEP 723); absent where it has no such block. */
  inline?: string[]
  /** What it imports, by its language. */
  imports?: { python: PythonImport[] } | { node: NodeImports }
}
