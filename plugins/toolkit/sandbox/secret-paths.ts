import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Files and folders below a home directory that hold keys, passwords or what a user typed. */
const inHome = [
  '.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.netrc', '.npmrc', '.yarnrc.yml', '.pypirc',
  '.git-credentials',
  '.terraform.d', '.vault-token', '.password-store', '.pgpass', '.my.cnf', '.s3cfg', '.boto', '.rclone.conf',
  '.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials', '.m2/settings.xml', '.gradle/gradle.properties',
  '.config/gcloud', '.config/gh', '.config/git/credentials', '.config/containers', '.config/op', '.config/rclone',
  '.config/google-chrome', '.config/chromium', '.config/BraveSoftware', '.config/microsoft-edge', '.config/vivaldi',
  '.config/opera', '.mozilla', '.thunderbird', '.local/share/keyrings', '.local/share/kwalletd', '.claude',
  '.claude.json',
  '.codex', '.cursor', '.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.psql_history'
]

/** Files and folders of the system that only root may read, or that open it to others. */
const inSystem = [
  '/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers', '/etc/sudoers.d', '/etc/ssl/private',
  '/etc/ssh', '/etc/krb5.keytab', '/etc/wireguard', '/etc/NetworkManager', '/etc/ppp', '/etc/docker', '/etc/kubernetes',
  '/boot', '/lost+found', '/sys/kernel/debug', '/sys/kernel/tracing', '/sys/fs/bpf', '/sys/firmware',
  '/var/lib/docker', '/var/lib/containerd', '/var/lib/kubelet', '/var/lib/postgresql', '/var/lib/mysql',
  '/var/lib/redis',
  '/var/spool', '/var/mail', '/var/backups', '/var/log'
]

/** Folders of which a confined command has its own, empty at first. */
export const covered: readonly string[] = ['/tmp', '/run', '/dev/shm']
/** Folders of the machine that a confined command does not see as they are. */
export const replaced: readonly string[] = ['/proc', '/dev', '/run', '/tmp']

/**
 * The paths that a confined command can't read, unless its skill names them.
 * @param home the user's home directory
 * @param own files and folders of Skillet itself
 */
export function secretPaths (home: string, own: readonly string[]): string[] {
  const homes = ['/root', ...namesIn('/home').map(name => join('/home', name))].filter(path => path !== home)
  return [...replaced, ...inSystem, ...homes, ...inHome.map(path => join(home, path)), ...own]
}

/** The names in a folder; none where it can't be read. */
export function namesIn (folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
