import { health, searchSkills, type Gateway } from '../../../kernel/index.ts'
import { Activity } from '../terminal/activity.ts'
import { searching } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { addInputOptions } from '../options/input-options.ts'
import { align } from '../terminal/layout.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { actWithKernel } from '../with-kernel.ts'

/** How often the progress of the search is read, in milliseconds. */
const look_ms = 100

/** `skillet search WORDS…`: lists the matching tools, best first. */
const define: DefineCommand = (command, context) => {
  command.argument('<words...>', 'what is wanted, in words')
  const input = addInputOptions(command, searchSkills, { names: { skills: 'skill' }, without: ['query'] })
  actWithKernel<{ json?: boolean }>(command, context, {
    needs: searching,
    async act ({ gateway }, { json = false }, words) {
      const { terminal, signal } = context
      const { out, colors: { out: { bold, cyan, dim } }, columns } = terminal
      const answer = await showing(gateway, terminal, signal, () =>
        gateway.invoke(searchSkills, { ...input(), query: words.join(' ') }, { transport: 'cli', signal }))
      if (json) out(`${JSON.stringify(answer)}\n`)
      else if (answer.results.length === 0) out('Nothing fits. skillet list shows what there is.\n')
      else {
        out(align(answer.results.map(({ skill_name, tool_name, description, score }, i) => [
          { text: `${skill_name}:${tool_name}`, style: i === 0 ? text => bold(cyan(text)) : cyan },
          { text: score.toFixed(2), style: dim }, description
        ]), { columns }))
      }
    }
  })
}
export default define

/**
 * Shows during a search how many tools are embedded; and at the end, if that took too long, that some tools are
 * missing.
 */
async function showing<Found extends {
  mode: string
}> (gateway: Gateway, terminal: Terminal, signal: AbortSignal, search: () => Promise<Found>): Promise<Found> {
  if (!terminal.watched) return await search()
  const look = async () => (await gateway.invoke(health, {}, { transport: 'cli', signal })).search
  const activity = new Activity(terminal, 'search')
  const show = async (): Promise<void> => {
    const state = await look()
    if (state?.model === 'loading') activity.progress(0, state.total, 'loading the model')
    if (state?.model === 'indexing') activity.progress(state.indexed, state.total, 'tools embedded')
  }
  const timer = setInterval(() => { show().catch(() => {}) }, look_ms) // the search itself reports errors
  let answer
  try {
    answer = await search()
  } finally {
    clearInterval(timer)
    activity.end()
  }
  const state = await look()
  if (answer.mode === 'lexical' && (state?.model === 'loading' || state?.model === 'indexing')) {
    terminal.err(`Found by words alone: ${state.indexed} of ${state.total} tools are embedded so far. The next search goes on with it.\n`)
  }
  return answer
}
