import { realpathSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { changeFile, messageOf } from '../../../kernel/index.ts'
import { UsageError } from '../boot.ts'
import { clients, fileOf, type Client } from '../files/clients.ts'
import type { DefineCommand } from '../command.ts'
import { getEntry, setEntry } from '../files/jsonc.ts'

/** The name of the server in all clients. */
const name = 'skillet'

/** `skillet connect CLIENT`: adds this server to the client's file, and keeps the other entries. */
const define: DefineCommand = (command, { terminal }) => {
  command
    .argument('<client>', `the program with the agent: ${Object.keys(clients).join(', ')}`)
    .argument('[flags...]', 'flags of `skillet mcp`, after --')
    .option('--print', 'print what would stand in the file, and change nothing')
    .option('--project', 'use the file of the project in this folder')
    .option('--json', 'print JSON')
    .action(async (
      clientName: string,
      flags: string[],
      { print = false, project = false, json = false }: { print?: boolean, project?: boolean, json?: boolean }
    ) => {
      if (!isClient(clientName)) {
        throw new UsageError(`there is no client "${clientName}"; there are ${Object.keys(clients).join(', ')}`)
      }
      const client: Client = clients[clientName]
      const path = pathOf(client, project, terminal)
      const entry = {
        ...(client.typed && { type: 'stdio' }),
        command: process.execPath,
        args: [realpathSync(process.argv[1] ?? ''), 'mcp', ...flags]
      }
      if (print) {
        terminal.out(`${JSON.stringify({ [client.key]: { [name]: entry } }, undefined, 2)}\n`)
        if (!json) terminal.err(`this goes into ${path}\n`)
        return
      }
      const changed = await addEntry(path, client.key, entry)
      const text = changed ? `wrote ${name} into ${path}; start ${client.title} again` : `${path} has it already`
      terminal.out(json ? `${JSON.stringify({ client: clientName, path, changed })}\n` : `${text}\n`)
    })
}
export default define

/**
 * Sets the entry of this server in a client's file.
 * @returns whether that changed the file
 * @throws Error naming the file, which is left as it was
 */
async function addEntry (path: string, key: string, entry: object): Promise<boolean> {
  let changed = false
  try {
    await changeFile(path, text => {
      const present = getEntry(text, key, name)
      const wanted = { ...present, ...entry } // keeps the user's other fields, such as variables
      if (isDeepStrictEqual(present, wanted)) return undefined
      changed = true
      return setEntry(text, key, name, wanted)
    })
  } catch (error) {
    throw new Error(`${path} was left as it is: ${messageOf(error)}`, { cause: error })
  }
  return changed
}

function isClient (text: string): text is keyof typeof clients {
  return Object.hasOwn(clients, text)
}

function pathOf (...args: Parameters<typeof fileOf>): string {
  try {
    return fileOf(...args)
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}
