/** What is built into the modules of skills in WebAssembly; it imports nothing but Node's own modules. */
export { commands } from './commands.ts'
export { engineModule } from './engine-module.ts'
