'use strict'
// Loads the files of the built program, each a function. Beside a file may stand what V8 had compiled of it when the program was built:
// taking that over costs a fraction of compiling it again. V8 refuses what another version of it made, and compiles.
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

/** Modules by file. */
const modules = new Map()

/** Where the compiled code of a file is kept. */
exports.codeOf = file => `${file}.code`

/** Scripts by file, where somebody wants to keep their code. */
exports.scripts = undefined

/** @param file absolute path @returns what it exports */
exports.load = function load (file) {
  const known = modules.get(file)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  modules.set(file, module)
  const code = exports.codeOf(file)
  const script = new Script(readFileSync(file, 'utf8'), {
    filename: file,
    ...(existsSync(code) && { cachedData: readFileSync(code) }),
    importModuleDynamically: name => import(name) // packages and absolute addresses
  })
  exports.scripts?.set(file, script)
  const run = script.runInThisContext()
  run(module, module.exports, require, path => load(join(dirname(file), path)), pathToFileURL(file).href)
  return module.exports
}
