import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { launch, launcher, type Home } from './program.ts'

/** Runs a command in a terminal of a width, passes on what that shows, and SIGTERM to the command. */
const relay = `
import fcntl, os, pty, signal, struct, subprocess, sys, termios
columns, piped, command = int(sys.argv[1]), sys.argv[2] == 'piped', sys.argv[3:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=2 if piped else slave, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
os.close(slave)
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(child.wait())
`

/** Whether terminals can be made here. */
export const hasTerminals = spawnSync('python3', ['-c', 'import fcntl, pty, termios']).status === 0

export interface InTerminal {
  child: ChildProcess
  /** What the terminal shows, without colours. */
  shown (): string
  /** What was written to standard error where that is piped. */
  piped (): string
  /** Resolves with the exit status, when all is shown. */
  ended: Promise<number | null>
}

/** Starts a command of the built program in a pseudo-terminal. The caller ends it. */
export function startInTerminal (
  home: Home,
  args: readonly string[],
  { columns, stderr = 'shown' }: { columns: number, stderr?: 'shown' | 'piped' }
): InTerminal {
  const child = spawn('python3', ['-c', relay, String(columns), stderr, launcher, ...launch, ...args], {
    cwd: home.folder, env: { ...home.env, TERM: 'xterm-256color' }, stdio: ['ignore', 'pipe', 'pipe']
  })
  let shown = ''
  let piped = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => { shown += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { piped += text })
  return {
    child,
    shown: () => plainOf(shown),
    piped: () => piped,
    ended: once(child, 'close').then(() => child.exitCode)
  }
}

function plainOf (shown: string): string {
  return shown.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g'), '').replaceAll('\r\n', '\n')
}

/** Runs a command in a terminal and answers its questions. @returns what was shown */
export function answerInTerminal (home: Home, args: readonly string[], answers: readonly string[]): string {
  const relay = `
import os, pty, sys
answers = sys.argv[1].split(',')
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
    if answers and shown.count(b'[y/N] ') > int(os.environ['ASKED_MAX']) - len(answers):
        os.write(master, answers.pop(0).encode() + b'\\n')
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
`
  return spawnSync('python3', ['-c', relay, answers.join(','), launcher, ...launch, ...args], {
    env: { ...home.env, ASKED_MAX: String(answers.length), NO_COLOR: '1' },
    encoding: 'utf8'
  }).stdout
}
