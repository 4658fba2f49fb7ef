/** What brings a command, by the names that package managers have for it. */
export interface SystemPackages { debian?: string, homebrew?: string }

const same = (name: string): SystemPackages => ({ debian: name, homebrew: name })

/** The commands that skills are known to be written with. */
const packages: ReadonlyMap<string, SystemPackages> = new Map(Object.entries({
  ...Object.fromEntries([
    'git', 'bash', 'zsh', 'fish', 'curl', 'wget', 'jq', 'yq', 'gh', 'make', 'ffmpeg', 'pandoc', 'rsync', 'tree', 'ruby',
    'perl', 'zip', 'unzip', 'openssl'
  ].map(name => [name, same(name)])),
  'sqlite3': { debian: 'sqlite3', homebrew: 'sqlite' },
  'python3': { debian: 'python3', homebrew: 'python' },
  'pip3': { debian: 'python3-pip', homebrew: 'python' },
  'uv': { homebrew: 'uv' },
  'node': { debian: 'nodejs', homebrew: 'node' },
  'npm': { debian: 'npm', homebrew: 'node' },
  'npx': { debian: 'npm', homebrew: 'node' },
  'deno': { homebrew: 'deno' },
  'php': { debian: 'php-cli', homebrew: 'php' },
  'java': { debian: 'default-jre', homebrew: 'openjdk' },
  'go': { debian: 'golang-go', homebrew: 'go' },
  'cargo': { debian: 'cargo', homebrew: 'rust' },
  'gcc': same('gcc'),
  'g++': { debian: 'g++', homebrew: 'gcc' },
  'rg': same('ripgrep'),
  'fdfind': { debian: 'fd-find', homebrew: 'fd' },
  'fd': { homebrew: 'fd' },
  'xz': { debian: 'xz-utils', homebrew: 'xz' },
  'magick': same('imagemagick'),
  'convert': same('imagemagick'),
  'identify': same('imagemagick'),
  'exiftool': { debian: 'libimage-exiftool-perl', homebrew: 'exiftool' },
  'pdftotext': { debian: 'poppler-utils', homebrew: 'poppler' },
  'pdftoppm': { debian: 'poppler-utils', homebrew: 'poppler' },
  'pdfinfo': { debian: 'poppler-utils', homebrew: 'poppler' },
  'soffice': same('libreoffice'),
  'libreoffice': same('libreoffice'),
  'tesseract': { debian: 'tesseract-ocr', homebrew: 'tesseract' },
  'dot': same('graphviz'),
  'gs': same('ghostscript'),
  'xmllint': { debian: 'libxml2-utils', homebrew: 'libxml2' },
  'psql': { debian: 'postgresql-client', homebrew: 'libpq' },
  'mysql': { debian: 'default-mysql-client', homebrew: 'mysql-client' },
  'redis-cli': { debian: 'redis-tools', homebrew: 'redis' },
  'ssh': { debian: 'openssh-client', homebrew: 'openssh' },
  'gpg': same('gnupg'),
  'dig': { debian: 'bind9-dnsutils', homebrew: 'bind' },
  'docker': { debian: 'docker.io', homebrew: 'docker' },
  'hg': same('mercurial'),
  'svn': same('subversion')
}))

/** The packages that bring a command; undefined where that is not known. */
export function packagesOf (command: string): SystemPackages | undefined {
  return packages.get(command)
}

/**
 * How to install a command, in words: `apt-get install git (Debian, Ubuntu) or brew install git (Homebrew)`. Undefined
 * where that is not known.
 */
export function howToInstall (command: string): string | undefined {
  const names = packages.get(command)
  if (names === undefined) return undefined
  return [
    ...(names.debian === undefined ? [] : [`apt-get install ${names.debian} (Debian, Ubuntu)`]),
    ...(names.homebrew === undefined ? [] : [`brew install ${names.homebrew} (Homebrew)`])
  ].join(' or ')
}
