// `npm start`: sets up what is missing, then serves. Further arguments go to `skillet serve`.
import { setUp } from './setup.mjs'

setUp()
process.argv.splice(2, 0, 'serve')
await import('../dist/program/main.js')
