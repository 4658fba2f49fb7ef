// `npm start`: sets up what is missing, then serves. Further arguments go to `skillet serve`.
import { endWithNpm } from './parent.mjs'
import { setUp, tellOfCommand } from './setup.mjs'

setUp()
tellOfCommand()
endWithNpm()
process.argv.splice(2, 0, 'serve')
await import('../dist/program/main.js')
