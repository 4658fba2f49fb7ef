import t from 'tap'
import { ManifestFile, parametersMax, ScriptFile, toolsMax } from '../../../kernel/schema/manifest.ts'
import { compileCheck } from '../../../kernel/schema/validation.ts'

const manifest = compileCheck(ManifestFile, 'skill.toml')
const script = compileCheck(ScriptFile, 'skill.js')
const tool = { name: 'a', description: 'x', command: ['echo', ['--x', ['{{y}}']]] }
const many = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i))

t.test('skill.toml', async t => {
  t.equal(
    manifest({
      name: 'git-2',
      description: 'x',
      version: '1',
      runtime: 'native',
      permissions: { network: true },
      tools: [{ ...tool, parameters: [{ name: 'y', type: 'string', description: 'x', minLength: 1 }] }]
    }),
    undefined
  )
  for (const name of ['_type', '$filter', '@id', 'x.y', 'a b', '1', 'constructor', 'a\nb', '', 'é'.repeat(200)]) {
    t.equal(
      manifest({ tools: [{ ...tool, parameters: [{ name, type: 'string', description: 'x' }] }] }), undefined, name
    )
    t.equal(
      script({ tools: { go: { description: 'x', parameters: { [name]: { type: 'string', description: 'x' } } } } }),
      undefined,
      name
    )
  }
  t.equal(manifest({}), undefined, 'beside a module it may hold next to nothing')
  t.equal(manifest({ tools: many(toolsMax, i => ({ ...tool, name: `t${i}` })) }), undefined)
  for (const [value, expected] of [
    [{ name: 'Git' }, /^skill\.toml\/name must match pattern/],
    [{ name: 'x'.repeat(65) }, /^skill\.toml\/name must match pattern/],
    [{ description: '' }, /^skill\.toml\/description must NOT have fewer than 1 characters$/],
    [
      { permissions: { netwrok: true } },
      /^skill\.toml\/permissions has an unknown field "netwrok"; did you mean "network"\?$/
    ],
    [{ permissions: { env: ['A=B'] } }, /^skill\.toml\/permissions\/env\/0 must match pattern/],
    [{ tools: [{ ...tool, name: 'a b' }] }, /^skill\.toml\/tools\/0\/name must match pattern/],
    [{ tools: [{ ...tool, command: [] }] }, /^skill\.toml\/tools\/0\/command must NOT have fewer than 1 items$/],
    [{ tools: [{ ...tool, command: ['a', 1] }] }, /^skill\.toml\/tools\/0\/command\/1 must be string$/],
    [{ tools: [{ ...tool, command: ['a', ['b', [2]]] }] }, /^skill\.toml\/tools\/0\/command\/1/],
    [{ tools: [{ ...tool, timeout_ms: 0 }] }, /^skill\.toml\/tools\/0\/timeout_ms must be >= 1$/],
    [{ tools: [{ ...tool, shell: true }] }, /^skill\.toml\/tools\/0 has an unknown field "shell"/],
    [
      { tools: [{ ...tool, parameters: [{ name: 'x'.repeat(257), type: 'string', description: 'x' }] }] },
      /^skill\.toml\/tools\/0\/parameters\/0\/name must match pattern/
    ],
    [
      { tools: [{ ...tool, parameters: [{ name: 'a', type: 'null', description: 'x' }] }] },
      /^skill\.toml\/tools\/0\/parameters\/0\/type must be one of "string"/
    ],
    [
      { tools: many(toolsMax + 1, i => ({ ...tool, name: `t${i}` })) },
      /^skill\.toml\/tools must NOT have more than 1000 items$/
    ]
  ] as const) t.match(manifest(structuredClone(value)), expected, JSON.stringify(value).slice(0, 100))
})

t.test('a script\'s export', async t => {
  const go = (parameters: object): object => ({ tools: { go: { description: 'x', parameters } } })
  t.equal(script(go({ 'n-1': { type: 'integer', description: 'x', minimum: 1 } })), undefined)
  t.equal(script({ tools: { 'a.b-c_D': { description: 'x' } } }), undefined)
  for (const [value, expected] of [
    [{}, /^skill\.js must have the field "tools"$/],
    [{ tools: {} }, /^skill\.js\/tools must NOT have fewer than 1 properties$/],
    [{ tools: { 'a b': { description: 'x' } } }, /^skill\.js\/tools has a field "a b"; names must match "/],
    [{ tools: { a: {} } }, /^skill\.js\/tools\/a must have the field "description"$/],
    [
      go({ ['x'.repeat(257)]: { type: 'string', description: 'x' } }),
      /^skill\.js\/tools\/go\/parameters has a field "x+…"; names must match "/
    ],
    [go({ a: { type: 'string' } }), /^skill\.js\/tools\/go\/parameters\/a must have the field "description"$/],
    [
      go(Object.fromEntries(many(parametersMax + 1, i => [`p${i}`, { type: 'string', description: 'x' }]))),
      /must NOT have more than 64 properties$/
    ]
  ] as const) t.match(script(structuredClone(value)), expected, JSON.stringify(value).slice(0, 100))
})
