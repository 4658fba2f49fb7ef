import { register } from 'node:module'

/** Preloaded (`node --import`) where a TypeScript file of an Agent Skills folder is run as a command. */
register('./typescript-hooks.js', import.meta.url)
