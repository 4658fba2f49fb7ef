// `npm start`: completes the setup, then starts the server. Further arguments are passed to `skillet serve`.
import { endWithNpm } from './parent.mjs'
import { setUp, tellOfCommand } from './setup.mjs'

setUp()
tellOfCommand()
endWithNpm()
process.argv.splice(2, 0, 'serve')
await import('../dist/program/main.js')
