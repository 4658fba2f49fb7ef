import { posix } from 'node:path'
import { VARIABLE_NAME, type JsonObject } from '../../../kernel/index.ts'
import { interpolate } from './interpolate.ts'
import { noteUnknown, optionalFlag, optionalText, textListOf, WrongType } from './values.ts'

/** The table `docker` of an entry, with its variables filled in. */
export interface Container {
  image: string
  entrypoint?: string
  command: string[]
  volumes: string[]
  working_dir?: string
  environment: string[]
  memory?: string
  cpus?: string
  network: string
  rm: boolean
  user?: string
  gpus?: string
  read_only: boolean
  platform?: string
  extra_args: string[]
}

const texts = ['image', 'entrypoint', 'working_dir', 'memory', 'cpus', 'network', 'user', 'gpus', 'platform'] as const
const lists = ['command', 'volumes', 'environment', 'extra_args'] as const

/**
 * Reads the table `docker`.
 * @param variables what `${NAME}` may stand for
 * @throws WrongType; UnsetVariable when a variable is not set
 */
export function readContainer (table: JsonObject, variables: NodeJS.ProcessEnv, notes: string[]): Container {
  noteUnknown(table, [...texts, ...lists, 'rm', 'read_only'], 'docker.', notes)
  const text: Partial<Record<typeof texts[number], string>> = {}
  for (const key of texts) {
    const value = optionalText(table, key, 'docker.', notes)
    if (value !== undefined) text[key] = interpolate(value, variables)
  }
  const list = (key: typeof lists[number]): string[] =>
    textListOf(table, key, 'docker.', notes).map(value => interpolate(value, variables))
  const { image = '', network = 'none', ...rest } = text
  if (image === '' || image.startsWith('-')) throw new WrongType('docker.image must be the name of an image')
  return {
    ...rest,
    image,
    network,
    command: list('command'),
    volumes: list('volumes'),
    environment: list('environment'),
    extra_args: list('extra_args'),
    rm: optionalFlag(table, 'rm', 'docker.', notes) ?? true,
    read_only: optionalFlag(table, 'read_only', 'docker.', notes) ?? false
  }
}

/** Folders of this machine that no container may see. */
const closedPaths = ['/etc/passwd', '/etc/shadow', '/var/run/docker.sock', '/run/docker.sock', '/root']

/** Why the policy for containers refuses one; undefined when it may run. */
export function refusalOf ({ network, volumes, extra_args }: Container): string | undefined {
  if (network === 'host') return 'the network "host" is not allowed'
  const further: string[] = []
  for (const [i, argument] of extra_args.entries()) {
    const [option = '', value = extra_args[i + 1] ?? ''] = argument.split(/=(.*)/s, 2)
    if (option === '--privileged') return '--privileged is not allowed'
    if (/^--(network|net|pid|ipc|uts|userns)$/.test(option) && value.startsWith('host')) {
      return `${option} "host" is not allowed`
    }
    if (option === '-v' || option === '--volume') further.push(value)
    if (/^-v./.test(argument)) further.push(argument.slice(2).replace(/^=/, ''))
    if (option === '--mount') further.push(/(?:^|,)(?:source|src)=([^,]*)/.exec(value)?.[1] ?? '')
  }
  for (const volume of [...volumes, ...further]) {
    const host = posix.normalize((volume.split(':', 1)[0] ?? '').replace(/^\/+/, '/'))
    if (volume.includes('docker.sock') || closedPaths.some(path => host.startsWith(path)) || host === '/') {
      return `the volume ${volume} is not allowed`
    }
  }
  return undefined
}

/** How the executor of containers runs one: options of the engine that stand before the image, and the command. */
export interface ContainerRun {
  run_options: string[]
  /** Absent: the image's own entry point gets the words. */
  program?: string
  words: string[]
  /** Variables of the container, which do not stand on the command line. */
  env: Record<string, string>
  /** Variables that it is given of the server's. */
  passed: string[]
}

/** What a table `docker` says, in terms of the executor of containers, which adds what it has in common with others. */
export function containerRun (container: Container): ContainerRun {
  const option = (name: string, value: string | undefined): string[] => value === undefined ? [] : [name, value]
  const pairs = container.environment.map(variable => /^([^=]*)(?:=(.*))?$/s.exec(variable) ?? [])
  const { entrypoint } = container
  return {
    run_options: [
      '--network', container.network,
      ...option('--memory', container.memory),
      ...option('--cpus', container.cpus),
      ...option('--workdir', container.working_dir),
      ...option('--user', container.user),
      ...option('--gpus', container.gpus),
      ...(container.read_only ? ['--read-only'] : []),
      ...option('--platform', container.platform),
      ...container.volumes.flatMap(volume => ['-v', volume]),
      ...container.extra_args
    ],
    ...(entrypoint !== undefined && entrypoint !== '' && { program: entrypoint }),
    words: container.command,
    env: Object.fromEntries(pairs.flatMap(([, name = '', value]) =>
      VARIABLE_NAME.test(name) && value !== undefined ? [[name, value]] : [])),
    passed: pairs.flatMap(([, name = '', value]) => VARIABLE_NAME.test(name) && value === undefined ? [name] : [])
  }
}
