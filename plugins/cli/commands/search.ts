import { searchSkills } from '../../../kernel/index.ts'
import { searching } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../input-options.ts'
import { align } from '../layout.ts'
import { actWithKernel } from '../with-kernel.ts'

/** `skillet search WORDS…`: the tools that fit, best first. */
const define: DefineCommand = (command, context) => {
  command.argument('<words...>', 'what is wanted, in words')
  const input = addInputOptions(command, searchSkills, { names: { skills: 'skill' }, without: ['query'] })
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: searching,
    async act ({ gateway }, { json = false }, words) {
      const { terminal: { out, colors: { out: { bold, cyan, dim } }, columns }, signal } = context
      const found = await gateway.invoke(searchSkills, { ...input(), query: words.join(' ') }, { transport: 'cli', signal })
      if (json) out(`${JSON.stringify(found)}\n`)
      else if (found.results.length === 0) out('Nothing fits. skillet list shows what there is.\n')
      else {
        out(align(found.results.map(({ skill_name, tool_name, description, score }, i) => [
          { text: `${skill_name}:${tool_name}`, style: i === 0 ? text => bold(cyan(text)) : cyan }, { text: score.toFixed(2), style: dim }, description
        ]), { columns }))
      }
    }
  })
}
export default define
