import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDrip, writeSkills } from './e2e-skills.ts'
import { addToPath, makeHome, skillet, startServer, type Home, type RunningServer } from './program.ts'

/**
 * A home with skills to try commands on, a server beside them, and a command's output as JSON. The caller ends both.
 */
export async function startCommands (): Promise<
  { home: Home, server: RunningServer, json: (...args: string[]) => Promise<Record<string, unknown>> }
> {
  const home = await makeHome()
  Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })
  await writeSkills(home.skills)
  await rm(join(home.skills, 'broken'), { recursive: true })
  await writeDrip(home.skills)
  await addToPath(home)
  const server = await startServer(home)
  return {
    home,
    server,
    json: async (...args) => JSON.parse((await skillet(home, [...args, '--json'])).stdout) as Record<string, unknown>
  }
}
