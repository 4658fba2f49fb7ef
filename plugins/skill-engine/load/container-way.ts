import type { CommandPiece } from '../../../kernel/index.ts'
import { asTarget } from '../../toolkit/container/spec.ts'
import { containerRun, type Container } from '../config/docker.ts'
import type { Way } from './define-tool.ts'

/** What stands for the program of a command where the image's own entry point gets the arguments. */
const ownProgram = 'the entry point'

/** How the tool of a container is run: by the executor of containers, with the caller's words after the manifest's. */
export function containerWay (container: Container): Way {
  const { run_options, program, words, env } = containerRun(container)
  const literal = (text: string): CommandPiece[] => [{ literal: text }]
  return {
    runtime: 'container',
    target: asTarget({ image: container.image, run_options, ...(program === undefined && { own_program: true }) }),
    command: {
      program: program ?? ownProgram,
      parts: [
        ...words.map(word => ({ kind: 'argument' as const, pieces: literal(word) })),
        { kind: 'spread', parameter: 'args' }
      ],
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, literal(value)])),
      dashes: ['args'] // they stand after the image
    }
  }
}
