import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A script skill and a command that are given secrets, and do with them what must not be kept. */
const script = `
const said = (key, token) => [key, token, JSON.stringify({ key, token }), Buffer.from('user:' + key).toString('base64'), encodeURIComponent(token)].join(' ')
const parameters = { key: { type: 'string', description: 'A key', required: true, secret: true }, plain: { type: 'string', description: 'A text' } }
const tool = run => ({ description: 'A tool', parameters, run ({ key }, context) { return run(said(key, context.secrets.FILE_TOKEN), context, key) } })
export default {
  description: 'Says its secrets',
  permissions: { secrets: ['FILE_TOKEN', 'ENV_TOKEN'] },
  tools: {
    lengths: tool((_, { secrets }, key) => [key, secrets.FILE_TOKEN, secrets.ENV_TOKEN].map(value => value.length).join(' ')),
    succeed: tool((said, { log, progress }) => { log('info', said); progress(1, 2, said); console.log(said); console.error(said); return { said } }),
    throw: tool(said => { throw new Error(said) }),
    reject: tool(async said => { throw { name: said, said } }),
    hang: tool(said => { console.log(said); for (;;); }),
    wait: tool((said, { signal, log }) => { log('warn', said); return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(said)))) }),
    exit: tool(said => { console.error(said); process.exit(3) }),
    late: tool(said => { setTimeout(() => { throw new Error(said) }, 20); return 'done' }),
    flood: tool((said, _, key) => 'x'.repeat(1048576 - 15) + key + said),
    strict: { description: 'Refuse', parameters: { key: { type: 'object', description: 'A key', secret: true, required: true, properties: { known: { type: 'integer' } }, additionalProperties: false } }, run: () => 'never' }
  }
}`

const secretParameter =
  '[[tools.parameters]]\nname = "key"\ntype = "string"\ndescription = "A key"\nrequired = true\nsecret = true\n'
const tool = (name: string, command: string, more = ''): string =>
  `[[tools]]\nname = "${name}"\ndescription = "A tool"\ncommand = ["sh", "-c", '${command}', "sh", "{{key}}"]\n${more}\n${secretParameter}`

const native = `
description = "Says its secrets"
[permissions]
env = ["ENV_TOKEN"]
secrets = ["FILE_TOKEN", "ENV_TOKEN"]
${tool('lengths', 'size () { printf %s "$1" | wc -c | tr -d " "; }; printf "%s %s %s" "$(size "$1")" "$(size "$FILE_TOKEN")" "$(size "$ENV_TOKEN")"')}
${tool('succeed', 'cat; echo "$1 $FILE_TOKEN $ENV_TOKEN"; env; echo "$1" >&2', 'stdin = "{{key}}"')}
${tool('fail', 'echo "$FILE_TOKEN"; echo "no: $1 $ENV_TOKEN" >&2; exit 3')}
${tool('hang', 'echo "$1 $FILE_TOKEN"; echo "$ENV_TOKEN" >&2; exec sleep 3600')}
${tool('crash', 'echo "$1 $FILE_TOKEN" >&2; kill -SEGV $$')}
${tool('flood', 'head -c 1048560 /dev/zero | tr "\\0" x; echo "$1$FILE_TOKEN"; echo "$1" >&2; head -c 4080 /dev/zero | tr "\\0" y >&2; exit 1')}
`

/** Needs what nobody sets. */
const needy = 'export default { description: "Needs", permissions: { secrets: ["NEVER_SET"] }, tools: { go: { description: "Go", run: () => "went" } } }'
/** Declares nothing, and looks for what others are given. */
const nosy = `export default { description: 'Looks', permissions: { env: ['SERVICE_API_KEY'] }, tools: {
  go: { description: 'Look', run: (_, { secrets }) => JSON.stringify({ secrets, env: process.env }) } } }`
const nosyNative = 'description = "Looks"\n[permissions]\nenv = ["SERVICE_API_KEY"]\nsecrets = []\n[[tools]]\nname = "go"\ndescription = "Look"\ncommand = ["env"]\n'

/** Writes those skills into a directory of skills. */
export async function writeSecretSkills (directory: string): Promise<void> {
  const files = [
    ['script', 'skill.js', script],
    ['command', 'skill.toml', native],
    ['needy', 'skill.js', needy],
    ['nosy', 'skill.js', nosy],
    ['nosy-native', 'skill.toml', nosyNative]
  ] as const
  for (const [name, file, text] of files) {
    await mkdir(join(directory, name), { recursive: true })
    await writeFile(join(directory, name, file), text)
  }
}
