import type { CommandPiece, CommandTemplate } from '../../../kernel/index.ts'

/**
 * Variables that the program of an engine reads itself. The values of all others are in its environment, where no other
 * user sees them; a value in one of these would change what the program does.
 */
const READ_BY_ENGINE = new RegExp(`^(${[
  'PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TZ', 'LANG', 'LC_.*', 'TERM', 'XDG_.*', 'DBUS_.*', 'LD_.*',
  'GO.*', 'DOCKER.*', 'BUILD.*', 'COMPOSE_.*', '_?CONTAINERS?_.*', 'PODMAN.*', 'STORAGE_.*', 'REGISTR.*', 'CONMON.*',
  'REMOTE_.*', 'IMAGE_.*', 'SSL_.*', 'SSH_.*', 'GNUPG.*', 'NOTIFY_SOCKET', 'LISTEN_.*', '.*_PROXY', 'OTEL_.*',
  'TMP', 'TEMP', 'LIBPOD.*', 'NETAVARK.*', 'CNI_.*', 'ISOLATION', 'SOURCE_DATE_EPOCH', 'MOBY_.*', 'NO_COLOR',
  'RES_OPTIONS', 'LOCALDOMAIN', 'HOSTALIASES', 'HISTFILE', 'MALLOC_.*', 'GLIBC_.*', 'NSS_.*', 'GCONV_PATH', 'LOCPATH'
].join('|')})$`)

/** Whether the program of an engine reads a variable of this name itself. */
export function isReadByEngine (name: string): boolean {
  return READ_BY_ENGINE.test(name.toUpperCase())
}

/**
 * Refuses a secret, or a value from a call, in a variable that the engine's program reads: it would have to be on the
 * command line, where other users see it.
 * @throws Error naming the variable
 */
export function refuseReadVariables (
  { env = {} }: Pick<CommandTemplate, 'env'>, secrets: readonly string[]
): void {
  const secret = secrets.find(isReadByEngine)
  if (secret !== undefined) {
    throw new Error(`permissions/secrets: the program of a container engine reads ${secret} itself; call it otherwise`)
  }
  const variable = Object.entries(env).find(([name, pieces]) => isReadByEngine(name) && !pieces.every(isLiteral))
  if (variable === undefined) return
  const why = 'must be a literal: the program of a container engine reads it itself'
  throw new Error(`env: ${variable[0]} ${why}`)
}

function isLiteral (piece: CommandPiece): boolean {
  return 'literal' in piece
}
