import { isObject, runtimeOf, type Finding, type JsonObject, type SkillDefinition } from '../../kernel/index.ts'
import { containerOf } from '../toolkit/container/spec.ts'
import { EngineFault } from './engine-fault.ts'
import { ask, EngineFinder, type Engine } from './engine.ts'

/** How long an engine may take to answer, in milliseconds. */
const ask_ms = 10_000
/** The most images that are looked for. */
const imagesMax = 200

/**
 * Says which engine runs containers, and which images of skills are missing. Asks no engine where no skill needs one.
 * @param options what stands in `[plugin.executor-container]`
 */
export async function examine (
  skills: readonly SkillDefinition[], options: JsonObject, signal: AbortSignal
): Promise<Finding[]> {
  const images = imagesOf(skills)
  if (images.size === 0) return []
  const { engine: setting, engine_options } = options
  const list = Array.isArray(engine_options) ? engine_options.map(String) : []
  try {
    const engine = await new EngineFinder(typeof setting === 'string' ? setting : 'auto', list).find()
    return [await examineEngine(engine), ...await examineImages(engine, images, signal)]
  } catch (error) {
    if (!(error instanceof EngineFault)) throw error
    const users = [...new Set([...images.values()].flat())].slice(0, 4).join(', ')
    return [{ level: 'problem', about: 'container engine', text: `${error.message}; needed by ${users}` }]
  }
}

/** The images, each with the skills that use it. */
function imagesOf (skills: readonly SkillDefinition[]): Map<string, string[]> {
  const images = new Map<string, string[]>()
  for (const skill of skills) {
    const used = skill.tools
      .filter(tool => runtimeOf(skill, tool) === 'container')
      .map(tool => containerOf(skill, tool).image)
    for (const image of new Set(used)) images.set(image, [...images.get(image) ?? [], skill.name])
  }
  return images
}

async function examineEngine (engine: Engine): Promise<Finding> {
  const format = engine.kind === 'podman' ? '{{json .Version}}' : '{{json .Server}}'
  const command = engine.kind === 'podman' ? 'info' : 'version'
  const { code, stdout, stderr } = await ask(engine, [command, '--format', format], ask_ms)
  const about = 'container engine'
  const text = `${engine.name} (${engine.file})`
  if (code === 0) return { level: 'ok', about, text: `${text}${versionIn(stdout)}` }
  const remedy = `start it; see \`${engine.name} info\``
  return { level: 'problem', about, text: `${text} does not answer: ${stderr}`, remedy }
}

function versionIn (text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const version = isObject(value) ? value['Version'] : undefined
    return typeof version === 'string' ? ` ${version}` : ''
  } catch {
    return ''
  }
}

async function examineImages (
  engine: Engine, images: ReadonlyMap<string, readonly string[]>, signal: AbortSignal
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [image, users] of [...images].slice(0, imagesMax)) {
    if (signal.aborted) break
    const { code, stderr } = await ask(engine, ['image', 'inspect', '--format', '{{.Id}}', image], ask_ms)
    if (code === 0 || !/no such image|image not known|not found/i.test(stderr)) continue
    findings.push({
      level: 'problem',
      about: `image ${image}`,
      text: `it is not on this machine; needed by ${users.slice(0, 4).join(', ')}`,
      remedy: `${engine.name} pull ${image}`
    })
  }
  return findings
}
