'use strict'
// Loads the files of the built program, each a function. Beside a file may stand what V8 had compiled of it when the program was built:
// taking that over costs a fraction of compiling it again. V8 refuses what another version of it made, and compiles.
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

/** Modules by file. */
const modules = new Map()
/** Scripts by file. */
exports.scripts = new Map()

/** What runs for long compiles for itself: the start gains a tenth there, once, and a fault of V8's in kept code would end everybody's work. */
const lasts = ['serve', 'mcp'].includes(process.argv[2])

/** Where the compiled code of a file is kept. */
exports.codeOf = file => `${file}.code`

/** @param file absolute path @returns what it exports */
exports.load = function load (file) {
  const known = modules.get(file)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  modules.set(file, module)
  const code = exports.codeOf(file)
  const script = new Script(readFileSync(file, 'utf8'), {
    filename: file,
    ...(!lasts && existsSync(code) && { cachedData: readFileSync(code) })
  })
  exports.scripts.set(file, script)
  const run = script.runInThisContext()
  // Scripts can't import by themselves: packages, and what has an absolute address, are imported from here.
  run(module, module.exports, require, path => load(join(dirname(file), path)), name => import(name), pathToFileURL(file).href)
  return module.exports
}
