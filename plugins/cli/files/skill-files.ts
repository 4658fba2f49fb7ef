/** The kind of a new skill. */
export type Kind = 'script' | 'native'

/**
 * The files of a new skill, by name: the skill works without changes, and so does its test.
 * @param program absolute path of the program, for the test
 */
export function skillFiles (kind: Kind, name: string, program: string): Record<string, string> {
  return kind === 'script' ? scriptFiles(name) : nativeFiles(name, program)
}

function scriptFiles (name: string): Record<string, string> {
  return {
    'skill.js': dedent(`
      export default {
        description: 'Greet people',
        tools: {
          hello: {
            description: 'Say hello to somebody',
            parameters: {
              name: { type: 'string', description: 'Who is greeted', required: true, minLength: 1 },
              times: { type: 'integer', description: 'How often', default: 1, minimum: 1, maximum: 10 }
            },
            timeout_ms: 5000,
            run ({ name, times }) {
              return Array(times).fill(\`Hello, \${name}!\`).join('\\n')
            }
          }
        }
      }
    `),
    'SKILL.md': instructions(name, 'Greet people', 'hello', { name: 'world', times: 2 }),
    'skill.test.mjs': dedent(`
      // node --test skill.test.mjs
      import assert from 'node:assert/strict'
      import { test } from 'node:test'
      import skill from './skill.js'

      test('hello greets as often as it is asked to', () => {
        assert.equal(skill.tools.hello.run({ name: 'world', times: 2 }), 'Hello, world!\\nHello, world!')
      })
    `)
  }
}

function nativeFiles (name: string, program: string): Record<string, string> {
  return {
    'skill.toml': dedent(`
      description = "Count what is in files"

      [[tools]]
      name = "lines"
      description = "Count the lines of a file"
      # One argument each, whatever it holds: there is no shell. Behind "--" nothing is taken for an option.
      command = ["wc", "-l", "--", "{{path}}"]
      timeout_ms = 5000

      [[tools.parameters]]
      name = "path"
      type = "string"
      description = "Path of the file"
      required = true
      minLength = 1
    `),
    'SKILL.md': instructions(name, 'Count what is in files', 'lines', { path: 'README.md' }),
    'skill.test.mjs': dedent(`
      // node --test skill.test.mjs
      import assert from 'node:assert/strict'
      import { execFileSync } from 'node:child_process'
      import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
      import { tmpdir } from 'node:os'
      import { dirname, join } from 'node:path'
      import { after, test } from 'node:test'

      const skillet = process.env.SKILLET ?? ${JSON.stringify(program)}
      const folder = mkdtempSync(join(tmpdir(), 'skill-test-'))
      after(() => { rmSync(folder, { recursive: true }) })

      /** Runs a tool of this skill as everybody does, with a history of its own. */
      function run (tool, parameters) {
        const skills = dirname(import.meta.dirname)
        const options = ['--no-bundled-skills', '--skills', skills, '--data-dir', join(folder, 'data'), '--params', JSON.stringify(parameters)]
        return execFileSync(process.execPath, [skillet, 'run', \`${name}:\${tool}\`, ...options], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
      }

      test('lines counts the lines of a file', () => {
        const file = join(folder, 'three.txt')
        writeFileSync(file, 'one\\ntwo\\nthree\\n')
        assert.match(run('lines', { path: file }), /^\\s*3\\s/)
      })

      test('a file that is not there is a failure', () => {
        assert.throws(() => run('lines', { path: join(folder, 'gone.txt') }), { status: 1, stderr: /gone\\.txt/ })
      })
    `)
  }
}

function instructions (name: string, description: string, tool: string, parameters: object): string {
  return `---
name: ${name}
description: ${description}
---

What this skill is for, and what whoever uses it should know.

\`\`\`json ${tool}
${JSON.stringify(parameters)}
\`\`\`
`
}

/** Removes the indentation that the text has in this file. */
function dedent (text: string): string {
  return text.replace(/^\n/, '').replace(/^ {6}/gm, '').replace(/\n *$/, '\n')
}
