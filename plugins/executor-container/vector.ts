import type { ContainerSpec } from '../toolkit/container/spec.ts'
import { isReadByEngine } from '../toolkit/container/variables.ts'
import type { Command } from '../toolkit/expand-command.ts'
import { mountText, type Mount } from './mounts.ts'

/** The temporary files of a container without any others that it can write, in bytes. */
const temporaryBytesMax = 268_435_456

/** What decides how a container is started. */
export interface Start {
  spec: ContainerSpec
  command: Command
  /** The name of the container. */
  name: string
  labels: Readonly<Record<string, string>>
  mounts: readonly Mount[]
  network: boolean
  limits: { memory_bytes_max: number, processes_max: number }
  /** The user in the container, where the skill names none. */
  user: string | undefined
  /** Names of variables that it gets from the environment of the engine's program. */
  variables: readonly string[]
  /** The user's further options. */
  runOptions: readonly string[]
}

/**
 * The arguments of the engine that start a container. All that comes from a call stands after the image, or behind `=`
 * or an option that takes a value, so it can't become an option. Values of variables are not among the arguments, which
 * other users of the machine can see.
 */
export function runVector (start: Start): string[] {
  const { spec, command, name, labels, runOptions } = start
  return [
    'run', '--log-driver', 'none', '--stop-timeout', '0', '--no-healthcheck',
    ...boundsOf(start),
    ...(spec.run_options ?? closedOptions(start)),
    ...(command.cwd === undefined ? [] : [`--workdir=${command.cwd}`]),
    ...variableOptions(start),
    ...runOptions,
    // Last, so that no option before them holds in their place.
    '--rm', '--detach=false', '--pull', 'never', '--security-opt', 'no-new-privileges',
    '--name', name, ...Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
    ...(command.stdin === undefined ? [] : ['--interactive']),
    ...(spec.own_program === true ? [] : [`--entrypoint=${command.program}`]),
    spec.image,
    ...command.args
  ]
}

function boundsOf ({ spec, limits: { memory_bytes_max, processes_max } }: Start): string[] {
  const memory = String(memory_bytes_max)
  const isSaid = spec.run_options?.some(option => /^(-m|--memory(-swap)?(=.*)?)$/.test(option)) === true
  return [
    ...(processes_max === 0 ? [] : ['--pids-limit', String(processes_max)]),
    ...(memory_bytes_max === 0 || isSaid ? [] : ['--memory', memory, '--memory-swap', memory])
  ]
}

/** The options that close a container, but for what the permissions of its skill open. */
function closedOptions ({ spec, mounts, network, user = '' }: Start): string[] {
  const asUser = spec.user ?? user
  return [
    ...(network ? [] : ['--network', 'none']),
    '--read-only', '--cap-drop', 'all',
    '--tmpfs', `/tmp:rw,nosuid,nodev,mode=1777,size=${temporaryBytesMax}`,
    ...(asUser === '' ? [] : ['--user', asUser]),
    ...mounts.flatMap(mount => ['--mount', mountText(mount)])
  ]
}

/** Variables by name; a literal that the engine's program would take for its own stands with its value. */
function variableOptions ({ command, variables }: Start): string[] {
  const literals = Object.entries(command.env).filter(([name]) => isReadByEngine(name))
  const names = [...Object.keys(command.env).filter(name => !isReadByEngine(name)), ...variables]
  return [
    ...[...new Set(names)].flatMap(name => ['--env', name]),
    ...literals.map(([name, value]) => `--env=${name}=${value}`)
  ]
}
