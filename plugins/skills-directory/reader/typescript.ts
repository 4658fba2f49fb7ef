import { register } from 'node:module'

/** Preloaded (`node --import`) when a TypeScript file of an Agent Skills folder runs as a command. */
register('./typescript-hooks.js', import.meta.url)
