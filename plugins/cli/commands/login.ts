import { configHome, SecretFile } from '../../../kernel/index.ts'
import { writeOAuth } from '../../toolkit/mcp/oauth.ts'
import { serverOf } from '../../toolkit/mcp/server-spec.ts'
import { quick, UsageError } from '../boot.ts'
import type { DefineCommand } from '../command.ts'
import { login } from '../mcp/login.ts'
import { steady } from '../terminal/layout.ts'
import { actWithKernel } from '../with-kernel.ts'

interface Options { json?: boolean, scope?: string, clientId?: string, callbackPort?: string }

/** `skillet login SKILL`: logs in at the MCP server of a skill (OAuth), by the user's browser. */
const define: DefineCommand = (command, context) => {
  const { terminal, signal } = context
  command.argument('<skill>', 'a skill whose MCP server is elsewhere')
    .option('--scope <scopes>', 'the rights to ask for (default: those that the server names)')
    .option('--client-id <id>', 'a client that the authorization server knows (default: one is registered)')
    .option('--callback-port <port>', 'the port of the page to which the browser comes back (default: any free one)')
  actWithKernel<Options>(command, context, {
    needs: quick,
    only: ([name = '']) => name,
    async act (kernel, { json = false, scope, clientId, callbackPort }, [name = '']) {
      const skill = kernel.skills().find(skill => skill.name === name)
      const url = skill?.runtime === 'mcp' ? serverOf(skill).url : undefined
      if (url === undefined) throw new UsageError(`"${name}" is no skill of an MCP server elsewhere, with a url`)
      const port = callbackPort === undefined ? 0 : Number(callbackPort)
      if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError('--callback-port must be a port')
      const state = await login({
        url, port, signal, ...(scope !== undefined && { scope }),
          ...(clientId !== undefined && { client_id: clientId }),
        show: page => { terminal.err(`Open this page to log in:\n  ${steady(page.href)}\n`) }
      })
      await writeOAuth(new SecretFile(configHome(terminal.env), terminal.env), name, state)
      const text = `logged in at ${new URL(url).origin} for the skill ${name}\n`
      terminal.out(json ? `${JSON.stringify({ skill: name, url })}\n` : text)
    }
  })
}
export default define
