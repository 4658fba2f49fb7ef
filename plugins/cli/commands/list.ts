import { health, listSkills, type QuarantinedSkill, type Skill, type SkillWarning } from '../../../kernel/index.ts'
import { quick } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { align, paragraph } from '../terminal/layout.ts'
import { instancesText, usage } from '../options/target.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet list`: lists the skills and their tools. */
const define: DefineCommand = (command, context) => {
  const input = addInputOptions(command, listSkills)
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: quick,
    async act ({ gateway }, { json = false }) {
      const { terminal, signal } = context
      const listed = await gateway.invoke(listSkills, input(), { transport: 'cli', signal })
      if (json) terminal.out(`${JSON.stringify(listed)}\n`)
      else {
        const { quarantined, warnings } = await gateway.invoke(health, {}, { transport: 'cli', signal })
        const notes = notesOf(quarantined, warnings)
        const texts = listed.skills.map(skill => skillText(skill, notes, terminal))
        terminal.out((listed.total === 0 ? `${none}\n` : texts.join('\n')) + lockedText(quarantined, terminal))
      }
    }
  })
}
export default define

const none = 'There are no skills. Name a directory of skill folders with --skills DIR, ' +
  'or make a skill with skillet init NAME.'

/** What is said about skills: the faults of their tools, and that their files changed since they were trusted. */
interface Note { skill: string, about: string, text: string }

function notesOf (quarantined: readonly QuarantinedSkill[], warnings: readonly SkillWarning[]): Note[] {
  return [
    ...quarantined.flatMap(({ name, tool, error, serving }) => {
      if (tool === undefined || serving === true) return []
      return [{ skill: name, about: `${name}:${tool}`, text: `could not be loaded: ${error}` }]
    }),
    ...warnings.flatMap(({ name, warning, trust }) => {
      return trust === undefined ? [] : [{ skill: name, about: 'not trusted', text: warning }]
    })
  ]
}

/** The skills that are kept from serving since they are not trusted. */
function lockedText (quarantined: readonly QuarantinedSkill[], { colors: { out }, columns }: Terminal): string {
  const locked = quarantined.filter(({ trust }) => trust !== undefined)
  const lines = locked.map(({ name, error }) => {
    return paragraph([{ text: name, style: out.red }, ` does not serve: ${error}`], { columns })
  })
  return lines.map(line => `\n${line}`).join('')
}

function skillText (
  skill: Skill,
  notes: readonly Note[],
  { colors: { out }, columns }: Terminal
): string {
  const { name, description, tools } = skill
  const instances = instancesText(skill)
  const rows = [
    ...(instances === undefined ? [] : [[{ text: 'instances', style: out.dim }, instances]]),
    ...tools.map(tool =>
      [{ text: `${name}:${tool.name} ${usage(tool)}`.trimEnd(), style: out.cyan }, tool.description]),
    ...notes.filter(({ skill }) => skill === name).map(({ about, text }) => [{ text: about, style: out.red }, text])
  ]
  return paragraph([{ text: name, style: out.bold }, ` — ${description}`], { columns })
    + align(rows, { columns, indent: '  ', widthMax: 40 })
}
