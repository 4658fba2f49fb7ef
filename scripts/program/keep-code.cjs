'use strict'
// Preloaded (`node --require`) where the build runs a command: at its end, keeps what V8 has compiled of the program.
const { writeFileSync } = require('node:fs')
const loader = require('../../dist/program/loader.js')

process.on('exit', () => {
  for (const [file, script] of loader.scripts) writeFileSync(loader.codeOf(file), script.createCachedData())
})
