import t, { type Test } from 'tap'
import { messageOf, type JsonObject } from '../../kernel/index.ts'
import { expandCommand } from '../../plugins/toolkit/expand-command.ts'
import { readNode } from '../../plugins/skills-directory/agent-skills/node-script.ts'
import { importsOf, readPython } from '../../plugins/skills-directory/agent-skills/python-script.ts'
import { callOf, type ScriptArgument } from '../../plugins/skills-directory/agent-skills/script-arguments.ts'
import type { ScriptReading } from '../../plugins/skills-directory/agent-skills/script-reading.ts'
import { mentionOf } from '../../plugins/skills-directory/agent-skills/script-mentions.ts'
import { readShell } from '../../plugins/skills-directory/agent-skills/shell-script.ts'

/** The command line that these parameters make. */
function commandLine (t: Test, reading: ScriptReading, parameters: JsonObject): string[] {
  const call = reading.interface === undefined ? undefined : callOf(reading.interface)
  if (call === undefined) {
    t.fail('the arguments were not read')
    return []
  }
  return expandCommand({ program: 'x', ...call.template }, parameters).args
}
const shown = ({ interface: found }: ScriptReading): string[] | undefined =>
  found?.arguments.map(({ name, kind, type, required }: ScriptArgument) =>
    `${name}:${kind}:${type}${required ? '!' : ''}`)

t.test('argparse: positionals, options, flags, lists, choices and defaults, as parameters and as a command line', async t => {
  const reading = readPython(`#!/usr/bin/env python3
# Copyright 2020 Somebody
"""Join pages.

Usage:
    python join.py <out> <in>...
"""
import argparse
DEFAULT = 80
MODES = ("fast", 'slow')
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output_file", help="Where the pages go")
    parser.add_argument("pages", nargs="+", type=int)
    group = parser.add_argument_group("more")
    group.add_argument("-w", "--line-width", type=int, default=DEFAULT, help="Width, at most 100%% (default: %(default)s)")
    group.add_argument("--mode", choices=MODES, default="fast", help=f"Mode of {DEFAULT}")
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--size", nargs=2, type=float, metavar=("W", "H"))
    parser.add_argument("-q", action="store_true", help="Say " "nothing")
    parser.add_argument("-o", dest="other")
    parser.add_argument("--color", action=argparse.BooleanOptionalAction)
    parser.add_argument("--version", action="version", version="1")
    args = parser.parse_args()
if __name__ == '__main__':
    main()
`, undefined)
  t.match(reading, { program: true, about: 'Join pages.', usage: 'python join.py <out> <in>...', least: 1 })
  t.same(shown(reading), [
    'output_file:positional:string!', 'pages:positional:integer!', 'line-width:option:integer', 'mode:option:string',
    'tag:option:string', 'size:option:number', 'q:flag:string', 'o:option:string',
    'color:flag:string', 'no_color:flag:string'
  ])
  const call = callOf(reading.interface ?? { arguments: [], dashes: true })
  t.match(
    call?.parameters.find(({ name }) => name === 'line_width'),
    { type: 'integer', default: 80, description: 'Width, at most 100% (default: 80)' }
  )
  t.match(call?.parameters.find(({ name }) => name === 'mode'), {
    enum: ['fast', 'slow'], default: 'fast', description: 'Mode of 80 (default: fast)'
  })
  t.match(call?.parameters.find(({ name }) => name === 'q'), { type: 'boolean', description: 'Say nothing' })
  const given = {
    output_file: '-out', pages: [1, -2], line_width: 7, tag: ['-a', 'b'], size: [1.5, 2], q: true, o: '-x',
    no_color: true
  }
  t.same(commandLine(t, reading, given), [
    '--line-width=7', '--tag=-a', '--tag=b', '--size', '1.5', '2', '-q', '-o-x', '--no-color', '--', '-out', '1', '-2'
  ])
  t.same(commandLine(t, reading, { output_file: 'out', pages: [1], q: false }), ['--', 'out', '1'])
})

t.test('argparse that only running it would tell is left to a list of arguments', async t => {
  const head = 'import argparse\np = argparse.ArgumentParser()\n'
  for (const [what, body] of Object.entries({
    'a loop': 'for n in "ab":\n    p.add_argument("--" + n)\n',
    'a condition': 'def f(x):\n    if x:\n        p.add_argument("--y")\n',
    'another function': 'add_common(p)\n',
    'a computed name': 'p.add_argument(name())\n',
    'subcommands': 's = p.add_subparsers(required=True)\n',
    'unknown ones': 'a, rest = p.parse_known_args()\n',
    'tables': 'p.add_argument("x", **options)\n'
  })) t.match(readPython(head + body, undefined), { program: true, interface: undefined }, what)
  t.equal(readPython(`${head}s = p.add_subparsers(required=True)`, undefined).least, 1)
  t.equal(readPython(`${head}s = p.add_subparsers()`, undefined).least, 0)
  const rest = readPython(`${head}p.add_argument("--port", type=int, action="append", required=True)\np.add_argument("command", nargs=argparse.REMAINDER)\n`, undefined)
  t.same(commandLine(t, rest, { port: [1, 2], command: ['python', '-m', 'x'] }), [
    '--port=1', '--port=2', 'python', '-m', 'x'
  ])
})

t.test('click: arguments, options and flags of its one command', async t => {
  const reading = readPython(`import click
@click.command()
@click.argument("source", type=click.Path(exists=True))
@click.argument("targets", nargs=-1)
@click.option("--count", "-c", default=3, help="How often")
@click.option("--shout/--no-shout", default=False)
@click.option("--kind", type=click.Choice(["a", "b"]), required=True)
@click.option("--name", multiple=True)
@click.option("-v", "--verbose", is_flag=True)
def cli(source, targets, count, shout, kind, name, verbose):
    """Copy things.

    And more.
    """
if __name__ == "__main__":
    cli()
`, undefined)
  t.match(reading, { program: true, about: 'Copy things.', least: 1 })
  t.same(shown(reading), [
    'source:positional:string!', 'targets:positional:string', 'count:option:integer', 'shout:flag:string',
    'no-shout:flag:string', 'kind:option:string!', 'name:option:string', 'verbose:flag:string'
  ])
  t.same(
    commandLine(t, reading, {
      source: 'a', targets: ['b', 'c'], count: 4, kind: 'b', name: ['x', 'y'], no_shout: true
    }),
    ['--count=4', '--no-shout', '--kind=b', '--name=x', '--name=y', '--', 'a', 'b', 'c']
  )
  t.equal(readPython('import click\n@click.group()\ndef cli(): pass\n@cli.command()\n@click.argument("a")\ndef one(a): pass\n', undefined).interface, undefined)
})

t.test('sys.argv: how many there must be, what they are called, what may be left out', async t => {
  const fixed = readPython(`import sys
def fill(pdf_path, pages): pass
if __name__ == "__main__":
    if len(sys.argv) != 4:
        print("Usage: fill.py [input pdf] [pages] [output.pdf]")
        sys.exit(1)
    out = sys.argv[3]
    fill(sys.argv[1], int(sys.argv[2]))
`, undefined)
  t.same(shown(fixed), ['pdf_path:positional:string!', 'pages:positional:integer!', 'out:positional:string!'])
  t.match(fixed, { least: 3, usage: 'fill.py [input pdf] [pages] [output.pdf]' })
  t.same(commandLine(t, fixed, { pdf_path: '-', pages: 2, out: 'x' }), ['-', '2', 'x'])
  const optional = readPython(`import sys
def main():
    if len(sys.argv) < 2:
        usage()
        sys.exit(1)
    name = sys.argv[1]
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    level = int(sys.argv[3]) if len(sys.argv) > 3 else 1
main()
`, undefined)
  t.same(shown(optional), ['name:positional:string!', 'folder:positional:string', 'level:positional:integer'])
  t.same(callOf(optional.interface ?? { arguments: [], dashes: false })?.rules, {
    dependentRequired: { level: ['folder'] }
  })
  t.match(
    readPython('import sys\nprint(open(sys.argv[1]).read())\n', 'show.py <file.txt>'),
    { program: true, least: 1, interface: { arguments: [{ name: 'file_txt' }] } }
  )
  t.match(readPython('import sys\nfor f in sys.argv[1:]: print(f)\n', undefined), {
    program: true, least: 0, passes: true, interface: undefined
  })
  t.match(readPython('"""Usage: all.py <file>..."""\nimport sys\nfor f in sys.argv[1:]: print(f)\n', undefined), {
    least: 1,
    interface: undefined
  })
})

t.test('libraries are told from programs, and a description from other comments', async t => {
  const program = (text: string): boolean => readPython(text, undefined).program
  t.notOk(program('"""Helpers."""\nimport os\nX = 1\ndef f(): print(1)\nclass A: pass\n'))
  t.notOk(program('import sys, logging\nsys.path.insert(0, ".")\nlogging.basicConfig()\n'))
  t.notOk(program('class A: pass\nif __name__ == "__main__":\n    raise RuntimeError("not to be run")\n'))
  t.ok(program('def f(): pass\nif __name__ == "__main__":\n    f()\n'))
  t.ok(program('print("hello")\n'))
  const about = (text: string): string => readShell(text, undefined).about
  t.equal(about('#!/bin/bash\n\n# Exit on error\nset -e\n'), '')
  t.equal(about('#!/bin/bash\n# Exit on error\nset -e\n'), '')
  t.equal(
    about('#!/bin/bash\n# SPDX-License-Identifier: MIT\n#\n# Copyright 2020 A\n\n# Build the site\n# from its sources.\n\nset -e\n'),
    'Build the site from its sources.'
  )
  t.equal(about('# Check something.\necho\n'), 'Check something.')
  t.equal(
    readNode('#!/usr/bin/env node\n/**\n * Lists things.\n *\n * @license MIT\n */\nconsole.log(1)\n', undefined).about,
    'Lists things.'
  )
  t.equal(readPython('# -*- coding: utf-8 -*-\n# Copyright 2020\nimport os\n', undefined).about, '')
  t.equal(readPython('"""Sum up.\n"""', undefined).about, 'Sum up.')
  t.notOk(readShell('log() {\n  echo "$1"\n}\nexport A=1\n', undefined).program)
  t.ok(readShell('log() {\n  echo "$1"\n}\nlog x\n', undefined).program)
  t.notOk(readNode('export const a = 1\nexport function f () { console.log(1) }\n', undefined).program)
  t.notOk(readNode('module.exports = { a: 1 }\n', undefined).program)
  t.ok(
    readNode('export function f () {}\nif (import.meta.url === `file://${process.argv[1]}`) f()\n', undefined).program
  )
})

t.test('shell: $1 with its guard and its usage, getopts, and what only passes its arguments on', async t => {
  const one = readShell('#!/bin/bash\nset -e\nif [ -z "$1" ]; then\n  echo "❌ Usage: ./make-it.sh <project-name>"\n  exit 1\nfi\nPROJECT_NAME="$1"\nLEVEL="${2:-3}"\n', undefined)
  t.same(shown(one), ['project_name:positional:string!', 'level:positional:string'])
  t.match(one, { least: 1, usage: './make-it.sh <project-name>' })
  t.same(commandLine(t, one, { project_name: '-p' }), ['-p'])
  t.match(readShell('[ $# -lt 2 ] && { echo "Usage: $0 FROM TO" >&2; exit 2; }\ncp "$1" "$2"\n', undefined), {
    least: 2,
    interface: { arguments: [{ name: 'from' }, { name: 'to' }] }
  })
  t.match(readShell('name=${1:?a name is needed}\n', undefined), {
    least: 1,
    interface: { arguments: [{ name: 'name', required: true }] }
  })
  t.match(
    readShell('cat <<EOF\nUsage: deploy.sh [--fast] TARGET\nEOF\nwhile [ $# -gt 0 ]; do case "$1" in --fast) F=1;; esac; shift; done\n', undefined),
    { interface: undefined, usage: 'deploy.sh [--fast] TARGET', least: 1 }
  )
  t.match(readShell('exec make "$@"\n', undefined), { least: 0, passes: true, interface: undefined })
  t.match(readShell('helper() {\n  echo "$1"\n}\nhelper now\n', undefined), { least: 0, interface: { arguments: [] } })
  const options = readShell('while getopts "o:vh" opt; do\n  case $opt in\n    o) OUTPUT="$OPTARG" ;;\n    v) VERBOSE=1 ;;\n    h) exit 0 ;;\n  esac\ndone\nshift $((OPTIND - 1))\nINPUT="$1"\n', undefined)
  t.same(shown(options), ['output:option:string', 'verbose:flag:string', 'h:flag:string', 'input:positional:string!'])
  t.same(commandLine(t, options, { output: 'x', verbose: true, input: '-i' }), ['-ox', '-v', '--', '-i'])
})

t.test('Node.js: parseArgs, commander, yargs and process.argv', async t => {
  const parsed = readNode(`import { parseArgs } from 'node:util'
const { values, positionals } = parseArgs({ options: { out: { type: 'string', short: 'o', default: 'a.txt' }, tag: { type: 'string', multiple: true }, loud: { type: 'boolean' } }, allowPositionals: true })
`, undefined)
  t.same(commandLine(t, parsed, { out: '-b', tag: ['x'], loud: true, operands: ['-y'] }), [
    '--out=-b', '--tag=x', '--loud', '--', '-y'
  ])
  const commanded = readNode(`import { program } from 'commander'
program.description('Make it').argument('<in>', 'What').argument('[more...]').requiredOption('-k, --kind <kind>', 'Which').option('-f, --fast', 'At once').option('--level <n>', 'How', '3').parse()
`, undefined)
  t.match(commanded, { program: true, about: 'Make it', least: 1 })
  t.same(shown(commanded), [
    'in:positional:string!', 'more:positional:string', 'kind:option:string!', 'fast:flag:string', 'level:option:string'
  ])
  t.same(commandLine(t, commanded, { in: 'a', kind: 'b', fast: true }), ['--kind=b', '--fast', '--', 'a'])
  t.equal(readNode("require('commander').program.command('a').option('-b')", undefined).interface, undefined)
  const yargs = readNode("import yargs from 'yargs'\nyargs().usage('Usage: $0 <x>').option('size', { alias: 's', type: 'number', demandOption: true, describe: 'How large', choices: [1, 2] }).option('dry', { type: 'boolean' }).parse()", undefined)
  t.same(shown(yargs), ['size:option:number!', 'dry:flag:string'])
  const argv = readNode("const [,, input, output = 'x'] = process.argv\nif (!input) {\n  console.error('Usage: a.js <input> [output]')\n  process.exit(1)\n}\n", undefined)
  t.same(shown(argv), ['input:positional:string!', 'output:positional:string'])
  t.equal(argv.usage, 'a.js <input> [output]')
  t.match(readNode('console.log(process.argv.slice(2).join())', undefined), {
    least: 0, passes: true, interface: undefined
  })
  t.match(
    readNode("if (process.argv.length < 4) { console.log('Usage: a <b> <c>'); process.exit(1) }\nconst from = process.argv[2]\nconst to = process.argv[3]", undefined),
    { least: 2, interface: { arguments: [{ name: 'from' }, { name: 'to' }] } }
  )
})

t.test('imports: what has to be there, not what a script can do without', async t => {
  const program =
    'import os, docx.shared as d\nfrom PIL import (\n  Image,  # one\n  ImageDraw as x,\n)\nfrom . import a\nfrom ..b.c import d\ntry:\n    import fast\nexcept ImportError:\n    fast = None\nif TYPE_CHECKING:\n    import types_only\ndef f():\n    import late\n'
  t.same(
    importsOf(program).map(({ module, names, level }) => `${level}:${module}:${names.join()}`),
    ['0:os:', '0:docx.shared:', '0:PIL:Image,ImageDraw', '1::a', '2:b.c:d', '0:late:']
  )
  const declared =
    '# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#   "rich[all]>=13",\n#   \'httpx\',\n# ]\n# ///\nprint(1)\n'
  t.same(readPython(declared, undefined).inline, ['rich[all]>=13', 'httpx'])
})

t.test('what the instructions say of a script', async t => {
  const texts = ['Run `python scripts/office/unpack.py in.docx out/`, then\n```bash\npython scripts/office/unpack.py \\\n  a.docx b/ --fast true  # again\n./scripts/go.sh\npython -m scripts.report <dir> > x.md\n```\nSee scripts/office/lib.py. `from scripts.helper import x`']
  t.same(mentionOf(texts, 'office/unpack.py'), { named: true, always: true, usage: 'unpack.py in.docx out/' })
  t.same(mentionOf(texts, 'report.py'), { named: true, always: true, usage: 'report.py <dir>' })
  t.match(mentionOf(texts, 'go.sh'), { named: true, always: false })
  t.match(mentionOf(texts, 'office/lib.py'), { named: true, always: false })
  t.match(mentionOf(texts, 'helper.py'), { named: false })
  t.match(mentionOf(texts, 'unpack.py'), { named: false })
})

t.test('hostile sources are given up, or read, in a few seconds', async t => {
  const sources = [
    '('.repeat(100_000), `"""${'a'.repeat(200_000)}`, 'if a:\n '.repeat(2_000), `x = ${'['.repeat(50_000)}`,
    `#!/bin/sh\n${'echo "$1'.repeat(20_000)}`, `usage: ${'[a '.repeat(50_000)}`,
    `# ${'= '.repeat(100_000)}`, `p = argparse.ArgumentParser(${'f"{'.repeat(5_000)}`, `echo "${'\\'.repeat(100_000)}`,
    'f() {\n'.repeat(20_000), `/*${'* '.repeat(100_000)}`, `${'- '.repeat(100_000)}x`
  ]
  for (const text of sources) {
    for (const read of [readPython, readShell, readNode]) {
      let threw = ''
      try {
        read(text, undefined)
      } catch (error) {
        threw = messageOf(error)
      }
      t.match(threw, /^$|^the script (?:takes too long|is nested too deeply)/, `${read.name} ${text.slice(0, 20)}`)
    }
    t.doesNotThrow(() => mentionOf([text], 'a.py'))
  }
})
