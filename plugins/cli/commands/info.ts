import {
  getSkill, splitTool, type ParameterDescriptor, type Skill, type Tool, type ToolAnnotations
} from '../../../kernel/index.ts'
import { quick } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { align, duration, paragraph, type Cell } from '../terminal/layout.ts'
import { findTool, skillIn, usage } from '../options/target.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet info SKILL`, `skillet info SKILL:TOOL`: shows all details of a skill or a tool. */
const define: DefineCommand = (command, context) => {
  command.argument('<skill|skill:tool>', 'the skill, such as git, or the tool, such as git:log')
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: quick,
    only: ([target = '']) => skillIn(target),
    async act ({ gateway }, { json = false }, [target = '']) {
      const { terminal, signal } = context
      const { skill_name, tool_name } = splitTool(target)
      const skill = await gateway.invoke(getSkill, { name: skill_name }, { transport: 'cli', signal })
      if (tool_name === undefined) terminal.out(json ? `${JSON.stringify(skill)}\n` : skillText(skill, terminal))
      else {
        const tool = await findTool(gateway, skill, tool_name, { transport: 'cli', signal })
        terminal.out(json ? `${JSON.stringify({ skill_name, ...tool })}\n` : toolText(skill_name, tool, terminal))
      }
    }
  })
}
export default define

function skillText (skill: Skill, terminal: Terminal): string {
  const { colors: { out: { bold, dim } }, columns } = terminal
  const { name, description, version, runtime, tools } = skill
  const about = [
    ...(version === undefined ? [] : [`version ${version}`]),
    runtime,
    `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`
  ].join(', ')
  const head = paragraph([{ text: name, style: bold }, ` — ${description}`], { columns })
    + paragraph([{ text: about, style: dim }], { columns })
    + instanceRows(skill, terminal)
  return `${head}\n${tools.map(tool => toolText(name, tool, terminal)).join('\n')}`
}

/** A row for each instance of a skill. */
function instanceRows ({ instances = [] }: Skill, { colors: { out: { cyan, dim } }, columns }: Terminal): string {
  return align(instances.map(({ name, description = '', default: isDefault }): (Cell | string)[] => [
    { text: name, style: cyan }, { text: isDefault === true ? 'default' : 'instance', style: dim }, description
  ]), { columns, indent: '  ' })
}

function toolText (skill: string, tool: Tool, { colors: { out }, columns }: Terminal): string {
  const { bold, cyan, dim } = out
  const rows = tool.parameters.map((parameter): (Cell | string)[] => [
    { text: `${parameter.name}${parameter.required ? '' : '?'}`, style: cyan },
    { text: kindOf(parameter), style: dim },
    parameter.description
  ])
  const about = [
    ...(tool.timeout_ms === undefined ? [] : [`time limit ${duration(tool.timeout_ms)}`]),
    ...effectsOf(tool.annotations)
  ]
  return [
    paragraph([{ text: `${skill}:${tool.name}`, style: bold }, ` ${usage(tool)}`], { columns }),
    align([[tool.description]], { columns, indent: '  ' }),
    about.length === 0 ? '' : align([[{ text: about.join(', '), style: dim }]], { columns, indent: '  ' }),
    align(rows, { columns, indent: '    ' })
  ].join('')
}

/** What a tool declares of its effects, such as `read only` and `not open world`. */
function effectsOf (annotations: ToolAnnotations = {}): string[] {
  return Object.entries(annotations).map(([name, holds]) => `${holds ? '' : 'not '}${name.replaceAll('_', ' ')}`)
}

/** The type and the limits of a value, such as `integer 1..1000, default 20`. */
function kindOf (parameter: ParameterDescriptor): string {
  const { type, minimum, maximum } = parameter
  const values = Array.isArray(parameter['enum'])
    ? parameter['enum'].map(value => JSON.stringify(value)).join(' | ')
    : String(type)
  const range = minimum === undefined && maximum === undefined
    ? ''
    : ` ${minimum === undefined ? '' : String(minimum)}..${maximum === undefined ? '' : String(maximum)}`
  const preset = 'default' in parameter ? `, default ${JSON.stringify(parameter['default'])}` : ''
  return `${values}${range}${preset}${parameter['secret'] === true ? ', secret' : ''}`
}
