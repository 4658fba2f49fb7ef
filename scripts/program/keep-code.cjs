'use strict'
// Preloaded (`node --require`) where the build runs a command: at its end, keeps what V8 has compiled of the program.
const { writeFileSync } = require('node:fs')
const { setFlagsFromString } = require('node:v8')
const loader = require('../../dist/program/loader.js')

process.on('exit', () => {
  // V8 refuses code that was kept under other flags than it is loaded with. kernel/lib/end-threads.ts changes this one, after most has loaded.
  if (process.versions.node.startsWith('24.')) setFlagsFromString('--turboshaft-loop-unrolling')
  for (const [file, script] of loader.scripts) writeFileSync(loader.codeOf(file), script.createCachedData())
})
