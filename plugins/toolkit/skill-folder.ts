/** The file names of a script skill's module. */
export const MODULES = ['skill.js', 'skill.mjs', 'skill.ts'] as const
export const MANIFEST = 'skill.toml'
/** The operations of a web API, where skill.toml says runtime = "http". */
export const DOCUMENT = 'openapi.json'
/**
 * The names of instructions in the format of Agent Skills; without other files in a folder, they are a skill. The first
 * name is the correct one.
 */
export const INSTRUCTIONS = ['SKILL.md', 'skill.md'] as const

/** Whether a folder with these names in it is a skill. */
export function isSkill (names: ReadonlySet<string>): boolean {
  return hasModule(names) || names.has(MANIFEST) || INSTRUCTIONS.some(file => names.has(file))
}

/** Whether reading the skill runs a module in its folder. */
export function hasModule (names: ReadonlySet<string>): boolean {
  return MODULES.some(file => names.has(file))
}

/** The skill name for a folder that was made for other programs: `PDF_tools` becomes `pdf-tools`. */
export function lenientName (entry: string): string {
  return entry.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 64)
}
