import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { argumentBytesMax, argumentsBytesMax, expandCommand } from '../../../plugins/toolkit/expand-command.ts'
import { parseCommand, type CommandSpec } from '../../../plugins/toolkit/parse-command.ts'
import type { JsonObject, ParameterDescriptor } from '../../../kernel/contracts/schemas.ts'

const parameter = (name: string, more: JsonObject = {}): ParameterDescriptor =>
  ({ name, type: 'string', description: name, required: true, ...more })

const optional = (name: string, more: JsonObject = {}): ParameterDescriptor =>
  parameter(name, { required: false, ...more })

/** The arguments that a command of these parameters has for these values. */
function expand (command: CommandSpec, parameters: ParameterDescriptor[], values: JsonObject): string[] {
  // As executors get it: across a border, where only plain data survives.
  const template = structuredClone(parseCommand({ command }, parameters))
  return expandCommand(template, values).args
}

function refuses (
  t: Test,
  command: CommandSpec,
  parameters: ParameterDescriptor[],
  values: JsonObject,
  name: string | null,
  message: RegExp
): void {
  t.throws(
    () => expand(command, parameters, values),
    { code: 'INVALID_PARAMETERS', message, details: { parameter: name } }
  )
}

t.test('a bad command names what is wrong with it', async t => {
  const parameters = [
    parameter('text'), optional('maybe'), parameter('list', { type: 'array' }), optional('flag', { type: 'boolean' }),
    optional('given', { default: 'x' })
  ]
  const bad = (spec: Parameters<typeof parseCommand>[0], message: RegExp): void => {
    t.throws(() => parseCommand(spec, parameters), { message })
  }
  bad({ command: [] }, /first item is the program/)
  bad({ command: [''] }, /first item is the program/)
  bad({ command: [['git']] }, /first item is the program/)
  bad({ command: ['{{text}}'] }, /without placeholders/)
  bad({ command: ['git-{{text}}'] }, /without placeholders/)
  bad({ command: ['x', '{{absent}}'] }, /\{\{absent\}\} has no parameter/)
  bad({ command: ['x', '{{}}'] }, /\{\{\}\} has no parameter/)
  bad({ command: ['x', '{{ text }}'] }, /\{\{ text \}\} has no parameter/)
  bad({ command: ['x', '{{toString}}'] }, /\{\{toString\}\} has no parameter/)
  bad({ command: ['x', ['{{...absent}}']] }, /\{\{absent\}\} has no parameter/)
  bad({ command: ['x', '{{maybe}}'] }, /\{\{maybe\}\} may be absent: make it required/)
  bad({ command: ['x', '--x={{text}}{{maybe}}'] }, /\{\{maybe\}\} may be absent/)
  bad({ command: ['x', '{{...text}}'] }, /spreads "text", which is not an array/)
  bad({ command: ['x', '--x={{...list}}'] }, /\{\{\.\.\.list\}\} must be an argument of its own/)
  bad({ command: ['x', ['a{{?flag}}']] }, /\{\{\?flag\}\} must be an argument of its own/)
  bad({ command: ['x', '{{?flag}}'] }, /\{\{\?flag\}\} belongs into a group/)
  bad({ command: ['x', ['{{?text}}', '-x']] }, /asks for "text", which is not a boolean/)
  bad({ command: ['x'], cwd: '/{{maybe}}' }, /\{\{maybe\}\} may be absent/)
  bad({ command: ['x'], cwd: '{{absent}}' }, /has no parameter/)
  bad({ command: ['x'], stdin: '{{absent}}' }, /has no parameter/)
  bad({ command: ['x'], stdin: '{{...list}}' }, /must be an argument of its own/)
  bad({ command: ['x', '-{{text}}'] }, /\{\{text\}\} behind dashes alone can be any option/)
  bad({ command: ['x', ['--{{maybe}}=1']] }, /behind dashes alone/)
  bad({ command: ['x\0'] }, /NUL/)
  bad({ command: ['x', ['a', ['\0']]] }, /NUL/)
  bad({ command: ['x'], cwd: '/\0' }, /NUL/)
  bad({ command: ['x'], env: { A: '\0' } }, /NUL/)
  bad({ command: ['x'], env: { A: '{{absent}}' } }, /\{\{absent\}\} has no parameter/)
  for (const name of ['', '1A', 'A=B', 'A-B']) {
    bad({ command: ['x'], env: { [name]: 'x' } }, /can't be the name of a variable/)
  }
  for (const name of [
    'PATH', 'LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS', 'BASH_ENV', 'GIT_SSH_COMMAND', 'PYTHONPATH',
    'GIT_PAGER', 'Path'
  ]) {
    bad({ command: ['x'], env: { [name]: 'a{{given}}' } }, /must be a literal/)
    t.doesNotThrow(() => parseCommand({ command: ['x'], env: { [name]: 'a' } }, parameters), name)
  }
  t.doesNotThrow(() => parseCommand(
    { command: ['x', '{{given}}', ['{{maybe}}', ['{{?flag}}', '{{...list}}']]], stdin: '{{maybe}}', cwd: '{{given}}' },
    parameters
  ))
})

t.test('variables: set by literals and values, left out when one is absent', async t => {
  const template = structuredClone(parseCommand(
    { command: ['x'], env: { FIXED: 'a b', GIVEN: '{{text}}:{{given}}', MAYBE: '{{maybe}}' } },
    [parameter('text'), optional('maybe'), optional('given', { default: 'y' })]
  ))
  t.same(expandCommand(template, { text: '-$HOME', given: 'y' }).env, { FIXED: 'a b', GIVEN: '-$HOME:y' })
  t.same(expandCommand(template, { text: '', given: 'y', maybe: '' }).env, { FIXED: 'a b', GIVEN: ':y', MAYBE: '' })
  for (const text of ['\0', '\ud800', 'x'.repeat(argumentBytesMax)]) {
    t.throws(
      () => expandCommand(template, { text, given: 'y' }),
      { code: 'INVALID_PARAMETERS', details: { parameter: 'text' } }
    )
  }
  t.same(expandCommand(parseCommand({ command: ['x'] }, []), {}).env, {})
})

t.test('a default that each call would be refused for is the manifest\'s fault', async t => {
  const bad = (command: CommandSpec, ...parameters: ParameterDescriptor[]): void => {
    t.throws(
      () => parseCommand({ command }, parameters),
      { message: /parameter "p": its default must not begin with "-"/ }
    )
  }
  const p = (value: unknown, more: JsonObject = {}): ParameterDescriptor => optional('p', { default: value, ...more })
  bad(['x', '{{p}}'], p('-v'))
  bad(['x', ['{{p}}']], p('-v'))
  bad(['x', '{{...p}}'], p(['a', '-v'], { type: 'array' }))
  bad(['x', '{{n}}{{p}}'], optional('n', { default: '' }), p('-v'))
  bad(['x', '{{p}}'], p(-1, { type: 'integer' }))
  bad(['x', ['{{?flag}}', '{{p}}']], optional('flag', { type: 'boolean', default: false }), p('-v'))
  for (const command of [['x', '--', '{{p}}'], ['x', 'a={{p}}']]) {
    t.doesNotThrow(() => parseCommand({ command }, [p('-v')]))
  }
  t.doesNotThrow(() => parseCommand({ command: ['x', '{{p}}'] }, [p('-v', { allow_dash: true })]))
  t.doesNotThrow(
    () => parseCommand({ command: ['x', '{{r}}', '{{p}}'] }, [parameter('r', { enum: ['-a'] }), p('b')]),
    'what is required has no default'
  )
})

const text = fc.string({ unit: 'binary' }).filter(text => !text.includes('\0'))

t.test('each argument is one argument, whatever its values hold', async t => {
  // Braces only within: two literals must not make a placeholder together.
  const literal = fc.oneof(
    fc.string({ unit: 'binary' }).filter(text => !/[{}\0]/.test(text)),
    fc.constantFrom('', '$x', '-n', 'a{0}b', 'a}}b')
  )
  const name = fc.constantFrom('a', 'b', 'constructor')
  const piece = fc.oneof(literal.map(literal => ({ literal })), name.map(name => ({ name })))
  const values = fc.record({ a: text, b: fc.oneof(text, name.map(name => `{{${name}}}`)), constructor: text })
  const parameters = [
    parameter('a', { allow_dash: true }),
    parameter('b', { allow_dash: true }),
    parameter('constructor', { allow_dash: true })
  ]
  fc.assert(fc.property(fc.array(fc.array(piece, { maxLength: 4 }), { maxLength: 6 }), values, (args, values) => {
    const spec = args.map(pieces =>
      pieces.map(piece => 'literal' in piece ? piece.literal : `{{${piece.name}}}`).join(''))
    const expected = args.map(pieces =>
      pieces.map(piece => 'literal' in piece ? piece.literal : values[piece.name as keyof typeof values]).join(''))
    t.same(expand(['x', ...spec], parameters, values), expected)
  }), { numRuns: 500 })
})

t.test('values that are not strings stand there as JSON', async t => {
  const types = ['integer', 'number', 'boolean', 'array', 'object']
  const parameters = types.map(type => parameter(type, { type }))
  const values = { integer: 20, number: 0.5, boolean: false, array: ['a b', 1], object: { k: '"' } }
  t.same(expand(['x', ...types.map(type => `{{${type}}}`)], parameters, values), [
    '20', '0.5', 'false', '["a b",1]', '{"k":"\\""}'
  ])
})

t.test('a spread gives one argument for each item', async t => {
  const parameters = [parameter('list', { type: 'array', allow_dash: true }), optional('more', { type: 'array' })]
  fc.assert(fc.property(fc.array(text), list => {
    t.same(expand(['x', 'a', '{{...list}}', 'b', '{{...more}}'], parameters, { list }), ['a', ...list, 'b'])
  }))
  t.same(expand(['x', '{{...list}}'], parameters, { list: [1, null, { a: [] }, ''] }), ['1', 'null', '{"a":[]}', ''])
})

t.test('a group is there when all that it names is, and its conditions hold; inner groups decide for themselves', async t => {
  const parameters =
    [optional('a'), optional('b'), optional('list', { type: 'array' }), optional('flag', { type: 'boolean' })]
  const command = ['x', ['--a', '{{a}}', ['--b={{b}}']], ['{{?flag}}', '--flag', ['{{...list}}']], 'end']
  t.same(expand(command, parameters, {}), ['end'])
  t.same(expand(command, parameters, { b: '1' }), ['end'])
  t.same(expand(command, parameters, { a: '' }), ['--a', '', 'end'], 'empty is not absent')
  t.same(expand(command, parameters, { a: '1', b: '2' }), ['--a', '1', '--b=2', 'end'])
  t.same(expand(command, parameters, { flag: false, list: ['q'] }), ['end'])
  t.same(expand(command, parameters, { flag: true }), ['--flag', 'end'])
  t.same(expand(command, parameters, { flag: true, list: ['q', 'r'] }), ['--flag', 'q', 'r', 'end'])
  t.same(
    expand(
      ['x', ['{{constructor}}'], ['{{?valueOf}}', 'no']],
      [optional('constructor'), optional('valueOf', { type: 'boolean' })],
      {}
    ),
    [],
    'not there by inheritance'
  )
})

t.test('no value becomes an option', async t => {
  const plain =
    [parameter('a'), parameter('b'), parameter('list', { type: 'array' }), optional('number', { type: 'integer' })]
  const refused = /must not begin with "-"/
  refuses(t, ['x', '{{a}}'], plain, { a: '-rf' }, 'a', refused)
  refuses(t, ['x', '{{a}}'], plain, { a: '-' }, 'a', refused)
  refuses(t, ['x', '{{a}}.txt'], plain, { a: '--output=' }, 'a', refused)
  refuses(t, ['x', ['{{a}}']], plain, { a: '-x' }, 'a', refused)
  refuses(t, ['x', ['{{number}}']], plain, { number: -1 }, 'number', refused)
  refuses(t, ['x', '{{...list}}'], plain, { list: ['fine', '-x'] }, 'list', refused)
  refuses(t, ['x', '{{a}}{{b}}'], plain, { a: '', b: '-x' }, 'b', refused)
  refuses(t, ['x', '{{a}}-x'], plain, { a: '' }, 'a', refused)
  refuses(
    t, ['x', '{{a}}{{b}}'], [parameter('a', { allow_dash: true }), parameter('b')], { a: '', b: '-x' }, 'b', refused
  )
  refuses(
    t,
    ['x', '{{a}}', '{{b}}'],
    [parameter('a', { allow_dash: true }), parameter('b')],
    { a: '--', b: '-x' },
    'b',
    refused
  )
  const numbers = [
    optional('number', { type: 'integer' }), optional('level', { enum: ['fast', 'best'] }),
    optional('free', { allow_dash: true })
  ]
  t.same(
    expand(['x', ['-{{number}}'], ['--{{level}}'], ['-{{free}}']], numbers, { number: 5, level: 'best', free: '-x' }),
    ['-5', '--best', '--x']
  )
  refuses(t, ['x', ['-{{number}}']], numbers, { number: -5 }, 'number', refused)
  t.same(expand(['x', '--of={{a}}', 'v{{b}}'], plain, { a: '-1', b: '-2' }), ['--of=-1', 'v-2'], 'behind a literal')
  t.same(
    expand(['x', '--', '{{a}}', '{{...list}}'], plain, { a: '-1', list: ['--'] }),
    ['--', '-1', '--'],
    'behind a literal --'
  )
  t.same(expand(['x', '{{a}}'], [parameter('a', { allow_dash: true })], { a: '-1' }), ['-1'], 'where it is allowed')
  // The -- was left out.
  refuses(t, ['x', ['{{flag}}', '--'], '{{a}}'], [parameter('a'), optional('flag')], { a: '-1' }, 'a', refused)
  fc.assert(fc.property(
    fc.array(fc.constantFrom('{{a}}', '{{b}}', 'l', '-l', '--l={{a}}', '{{a}}{{b}}', '{{b}}/{{a}}')),
    fc.constantFrom('', '-', '--', '-x', 'x'),
    fc.constantFrom('', '-', '-y', 'y'),
    (command, a, b) => {
      let args
      try {
        args = expand(['x', ...command], plain, { a, b })
      } catch {
        t.ok([a, b].some(value => value.startsWith('-')), 'refused with reason')
        return
      }
      for (const [i, argument] of args.entries()) {
        if (argument.startsWith('-')) t.match(command[i], /^-/, 'an option of the author\'s')
      }
    }
  ))
})

t.test('NUL, which no argument can hold, is refused, and allowed in standard input', async t => {
  const parameters = [parameter('a'), parameter('list', { type: 'array' })]
  const nul = /must not hold a NUL/
  refuses(t, ['x', 'v{{a}}'], parameters, { a: 'x\0y' }, 'a', nul)
  refuses(t, ['x', '{{...list}}'], parameters, { list: ['\0'] }, 'list', nul)
  t.throws(
    () => expandCommand(parseCommand({ command: ['x'], cwd: '{{a}}' }, parameters), { a: '/\0' }),
    { code: 'INVALID_PARAMETERS' }
  )
  t.equal(expandCommand(parseCommand({ command: ['x'], stdin: '<{{a}}>' }, parameters), { a: '-\0' }).stdin, '<-\0>')
})

t.test('half a surrogate pair, which has no bytes, is refused everywhere', async t => {
  const parameters = [parameter('a'), parameter('list', { type: 'array' })]
  const half = /half a surrogate pair/
  refuses(t, ['x', 'v{{a}}'], parameters, { a: 'x\ud800' }, 'a', half)
  refuses(t, ['x', '{{...list}}'], parameters, { list: ['\udc00'] }, 'list', half)
  for (const place of ['stdin', 'cwd']) {
    t.throws(
      () => expandCommand(parseCommand({ command: ['x'], [place]: '{{a}}' }, parameters), { a: '\ud800' }),
      { message: half }
    )
  }
})

t.test('standard input and working directory', async t => {
  const template =
    parseCommand({ command: ['x'], stdin: '{{maybe}}', cwd: '/srv/{{a}}' }, [parameter('a'), optional('maybe')])
  t.same(expandCommand(template, { a: '-b' }), { program: 'x', args: [], stdin: '', cwd: '/srv/-b', env: {} })
  t.same(expandCommand(parseCommand({ command: ['x'] }, []), {}), {
    program: 'x', args: [], stdin: undefined, cwd: undefined, env: {}
  })
})

t.test('arguments are no longer than the system takes, in bytes', async t => {
  const parameters = [optional('a'), optional('list', { type: 'array' })]
  const longest = 'x'.repeat(argumentBytesMax)
  t.equal(expand(['x', ['{{a}}']], parameters, { a: longest })[0], longest)
  refuses(
    t, ['x', ['{{a}}']], parameters, { a: `${longest}x` }, 'a', new RegExp(`argument of ${argumentBytesMax + 1} bytes`)
  )
  refuses(t, ['x', ['--a={{a}}']], parameters, { a: longest }, 'a', /makes an argument of/)
  refuses(t, ['x', ['{{a}}']], parameters, { a: '€'.repeat(43_691) }, 'a', /makes an argument of/)
  t.equal(expand(['x', ['{{a}}']], parameters, { a: '€'.repeat(43_690) })[0]?.length, 43_690)
  const list = Array.from({ length: 7 }, () => longest)
  t.equal(expand(['x', '{{...list}}'], parameters, { list }).length, 7)
  refuses(
    t, ['x', '{{...list}}'], parameters, { list: [...list, longest] }, 'list', new RegExp(
      `longer than ${argumentsBytesMax} bytes in all`
    )
  )
  // The system counts the pointers to arguments, too.
  refuses(t, ['x', '{{...list}}'], parameters, { list: Array.from({ length: 350_000 }, () => '') }, 'list', /in all/)
})

t.test('a placeholder takes every name that it can hold, and says so of the others', async t => {
  for (const name of ['_type', '$filter', '@id', 'x.y', 'a b', 'constructor', 'toString', 'a=b', '1', 'é', 'a:b']) {
    const template = parseCommand(
      { command: ['echo', '--x={{' + name + '}}'] },
      [{ name, type: 'string', description: name, required: true }]
    )
    t.same(expandCommand(template, { [name]: 'v' }).args, ['--x=v'], name)
  }
  const group = parseCommand(
    { command: ['echo', ['--x={{constructor}}']] },
    [{ name: 'constructor', type: 'string', description: 'x', required: false }]
  )
  t.same(expandCommand(group, {}).args, [], 'nothing is inherited')
  for (const name of ['a}b', '{a}', '?a', '...a', '']) {
    const parameter = { name, type: 'string', description: 'x', required: true } as const
    t.same(
      expandCommand(parseCommand({ command: ['echo', 'x'] }, [parameter]), { [name]: 'v' }).args,
      ['x'],
      'one that is used nowhere'
    )
    t.throws(
      () => parseCommand({ command: ['echo', `--x={{${name}}}`] }, [parameter]),
      { message: /can't stand in a placeholder/ },
      name
    )
    t.throws(
      () => parseCommand({ command: ['echo'], stdin: `{{${name}}}` }, [parameter]),
      { message: /can't stand in a placeholder/ },
      name
    )
  }
  const flag = { name: 'a', type: 'boolean', description: 'x', required: true } as const
  t.same(
    expandCommand(
      parseCommand(
        { command: ['echo', ['{{?a}}', '-a']] },
        [flag, { name: '?a', type: 'string', description: 'x', required: false }]
      ),
      { a: true }
    ).args,
    ['-a']
  )
})
