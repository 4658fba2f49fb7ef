import { basename, join } from 'node:path'
import { isObject, messageOf } from '../../../kernel/index.ts'
import { parseConfigFile } from '../config/config-file.ts'
import { plainInstance, type Instance } from '../config/instance.ts'
import type { Entry } from '../config/manifest.ts'
import { aboutOf, parseSkillYaml, type About } from '../config/small-files.ts'
import { variablesOf } from '../run/settings.ts'
import { toolsOfCode } from '../text/code-tools.ts'
import { skillNameOf } from '../text/names.ts'
import type { EngineTool } from '../text/parameters.ts'
import { parseSkillMd, type SkillText } from '../text/skill-md.ts'
import type { CodeDescription } from '../thread/protocol.ts'
import type { CodeCache } from './code-cache.ts'
import { defaultInstanceOf, Refusal, type EngineSkill } from './engine-skill.ts'
import { readText } from './files.ts'
import { findCode, readInstructions, readPackage } from './folder.ts'

/** What the files of a folder say, before its code has run. */
interface Sources {
  folder: string
  entry: Entry | undefined
  text: SkillText | undefined
  yaml: (About & { tools: EngineTool[] }) | undefined
  packaged: About & { main?: string }
  notes: string[]
}

/**
 * Reads the folder of one skill, and describes its code.
 * @param entry the entry of a manifest that names the folder
 * @throws Refusal
 */
export async function readSkill (
  folder: string, entry: Entry | undefined, codes: CodeCache, signal: AbortSignal
): Promise<EngineSkill> {
  const notes = [...entry?.notes ?? []]
  const packaged = await readPackage(folder, notes)
  const code = await findCode(folder, packaged.main)
  const sources: Sources = {
    folder, entry, packaged, notes,
    text: await readSkillText(folder, code !== undefined, notes),
    yaml: await readYaml(folder)
  }
  const settings = await settingsOf(folder, entry, notes)
  if (code !== undefined) return await readScript(sources, settings, code, codes, signal)
  const unsupported = sources.yaml === undefined ? undefined : 'Python'
  const ofText = sources.text?.tools ?? []
  notes.push(...sources.text?.notes ?? [])
  if (unsupported !== undefined) notes.push(`runtime-unsupported: ${unsupported}`)
  return {
    ...commonOf(sources, {}),
    ...settings,
    runtime: unsupported === undefined ? 'native' : 'unsupported',
    tools: ofText.length > 0 ? ofText : sources.yaml?.tools ?? [],
    ...(unsupported !== undefined && { reason: `the skill is written in ${unsupported}, which is not run in place` })
  }
}

async function readScript (
  sources: Sources, settings: Awaited<ReturnType<typeof settingsOf>>, entry: string, codes: CodeCache,
  signal: AbortSignal
): Promise<EngineSkill> {
  const { instance } = defaultInstanceOf(settings)
  const env = 'unusable' in instance ? {} : variablesOf({ ...instance, secret_keys: [] })
  const { folder } = sources
  const reply = await codes.describe({ entry, folder, env }, signal)
  if ('fault' in reply) throw new Refusal(reply.fault, entry, reply.message)
  const { file, inputs, tools: value, metadata }: CodeDescription = reply.description
  let found
  try {
    found = toolsOfCode(value, sources.text?.tools ?? [])
  } catch (error) {
    throw new Refusal('tools-invalid', entry, messageOf(error))
  }
  sources.notes.push(...found.notes)
  const about = isObject(metadata) ? aboutOf(metadata) : {}
  return {
    ...commonOf(sources, about), ...settings, runtime: 'script', tools: found.tools, code: { file, inputs }
  }
}

/** Name, description and version, each from the first source that has it. */
function commonOf (
  { folder, entry, text, yaml, packaged, notes }: Sources, metadata: About
): Pick<EngineSkill, 'name' | 'description' | 'version' | 'folder' | 'notes' | 'instructions' | 'allowedTools'> {
  const order = [yaml ?? {}, text ?? {}, metadata, packaged]
  const names = [entry?.key, ...entry === undefined ? order.map(({ name }) => name) : [], basename(folder)]
  const name = names.map(name => skillNameOf(name ?? '')).find(name => name !== '')
  if (name === undefined) throw new Refusal('name-invalid', folder, 'no name of it has a letter or a digit')
  const description = entry?.description ?? order.find(({ description }) => description !== undefined)?.description
  return {
    name,
    description: description ?? text?.firstParagraph ?? '',
    version: order.find(({ version }) => version !== undefined)?.version ?? '0.0.0',
    folder,
    notes,
    allowedTools: text?.allowedTools ?? [],
    ...(text !== undefined && text.instructions !== '' && { instructions: text.instructions })
  }
}

/** @throws Refusal when the text can't be read, and the folder has no code */
async function readSkillText (folder: string, hasCode: boolean, notes: string[]): Promise<SkillText | undefined> {
  try {
    const text = await readInstructions(folder)
    return text === undefined ? undefined : parseSkillMd(text)
  } catch (error) {
    if (!hasCode) throw new Refusal('frontmatter', folder, `SKILL.md: ${messageOf(error)}`)
    notes.push(`skill-md-unreadable: ${basename(folder)}`)
    return undefined
  }
}

async function readYaml (folder: string): Promise<Sources['yaml']> {
  const path = join(folder, 'skill.yaml')
  try {
    const text = await readText(path)
    return text === undefined ? undefined : parseSkillYaml(text)
  } catch (error) {
    throw new Refusal('skill-yaml', path, messageOf(error))
  }
}

/** The instances of a skill; where a manifest has any, their values win over those of `skill.config.toml`. */
async function settingsOf (
  folder: string, entry: Entry | undefined, notes: string[]
): Promise<Pick<EngineSkill, 'instances' | 'defaults' | 'default_instance' | 'services'>> {
  const own = await readConfig(folder, notes)
  const under = (instance: Entry['defaults']): Entry['defaults'] => 'unusable' in instance
    ? instance
    : { ...instance, config: { ...own.config, ...instance.config }, env: { ...own.env, ...instance.env },
        secrets: own.secrets }
  return {
    instances: new Map([...entry?.instances ?? []].map(([name, instance]) => [name, under(instance)])),
    defaults: entry === undefined ? own : under(entry.defaults),
    services: entry?.services ?? [],
    ...(entry?.default_instance !== undefined && { default_instance: entry.default_instance })
  }
}

async function readConfig (folder: string, notes: string[]): Promise<Instance> {
  try {
    const text = await readText(join(folder, 'skill.config.toml'))
    return text === undefined ? plainInstance : parseConfigFile(text, notes)
  } catch (error) {
    notes.push(`config-unreadable: skill.config.toml ${messageOf(error).trim()}`)
    return plainInstance
  }
}
