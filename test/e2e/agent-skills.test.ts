import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { execute, makeHome, request, skillet, startServer } from '../support/program.ts'
import { until } from '../../plugins/testing/until.ts'

// A folder as others publish them: its instructions name scripts in folders, which import each other, and not all are
// programs.
const home = await makeHome()
t.teardown(home.remove)
Object.assign(home.env, { SKILLET_SKILLS_BUNDLED: 'false' })
const folder = join(home.skills, 'office')

async function put (path: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
  await chmod(join(folder, path), mode)
}

await put('SKILL.md', `---
name: office
description: Edit documents of an office
---
Unpack with \`python scripts/office/unpack.py in.zip out/\`, see forms.md. Needs \`pip install "python-docx>=1.1"\`.
`)
await put('forms.md', 'Check a form with `python scripts/check_form <form.txt>`; pages: `python -m scripts.report <folder>`')
await put('scripts/__init__.py', '')
await put('scripts/office/unpack.py', `"""Unpack an archive for editing.

Usage:
    python unpack.py <archive> <folder> [options]
"""
import argparse
from helpers.merge import merge

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Unpack")
    parser.add_argument("archive", help="What to unpack")
    parser.add_argument("folder", help="Where to")
    parser.add_argument("--level", type=int, default=2, choices=[1, 2, 3])
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    print(merge(args.archive, args.folder), args.level, args.dry_run)
`, 0o755)
await put('scripts/office/helpers/merge.py', '"""Helpers."""\ndef merge(*parts):\n    return "+".join(parts)\n', 0o755)
await put(
  'scripts/office/validators/base.py',
  '"""A base."""\nclass Base: pass\nif __name__ == "__main__":\n    raise RuntimeError("no program")\n'
)
await put('scripts/utils.py', '"""Shared utilities."""\ndef title(text):\n    return text.upper()\n', 0o755)
await put('scripts/report.py', 'import sys\nfrom scripts.utils import title\nfrom pathlib import Path\nif len(sys.argv) < 2:\n    print("Usage: report.py <folder> [format]")\n    sys.exit(1)\nfolder = Path(sys.argv[1])\nkind = sys.argv[2] if len(sys.argv) > 2 else "html"\nprint(title(folder.name), kind)\n')
await put('scripts/check_form.py', 'import sys\nprint(len(open(sys.argv[1]).read()))\n')
await put('scripts/convert.py', '"""Convert a document."""\nimport argparse\nimport docx\nparser = argparse.ArgumentParser()\nparser.add_argument("--to", default="text")\nprint(docx.NAME, parser.parse_args().to)\n')
await put('scripts/init-project.sh', '#!/bin/bash\n\n# Exit on error\nset -e\n\ntouch "$HOME/begun"\nif [ -z "$1" ]; then\n  echo "Usage: ./init.sh <project-name>"\n  exit 1\nfi\nPROJECT_NAME="$1"\necho "made $PROJECT_NAME"\n', 0o755)
await put('scripts/inline.py', '# /// script\n# dependencies = ["left-pad"]\n# ///\n"""Pad a text."""\nprint("by python")\n')
await put('scripts/schema.xsd', '<xsd/>')

interface Tool { name: string, description: string, parameters: { name: string, type: string, required: boolean }[] }
const toolsAt = async (url: string): Promise<Tool[]> =>
  (await request(url, '/api/skills/office')).body['tools'] as Tool[]
const errorOf = (body: Record<string, unknown>): { code: string, message: string, details: Record<string, unknown> } =>
  body['error'] as { code: string, message: string, details: Record<string, unknown> }

t.test('over HTTP: programs at any depth are tools with their arguments as parameters; they find each other', async t => {
  const server = await startServer(home)
  t.teardown(server.stop)
  const { url } = server
  const tools = (await toolsAt(url)).slice(3)
  const shown = tools.map(({ name, parameters }) =>
    `${name} ${parameters.map(({ name, type, required }) => `${name}:${type}${required ? '!' : ''}`).join(' ')}`)
  t.same(shown, [
    'check_form form_txt:string!',
    'convert to:string',
    'init-project project_name:string!',
    'inline arguments:array stdin:string',
    'office_unpack archive:string! folder:string! level:integer dry_run:boolean',
    'report folder:string! kind:string'
  ])
  t.equal(
    tools.find(({ name }) => name === 'office_unpack')?.description,
    'Run scripts/office/unpack.py: Unpack an archive for editing.'
  )
  t.equal(tools.find(({ name }) => name === 'init-project')?.description, 'Run scripts/init-project.sh')

  const output = async (tool: string, parameters: object): Promise<unknown> =>
    (await execute(url, 'office', tool, parameters)).body['output']
  t.equal(await output('office_unpack', { archive: '-a', folder: 'b' }), '-a+b 2 False\n')
  t.equal(await output('office_unpack', { archive: 'a', folder: 'b', level: 3, dry_run: true }), 'a+b 3 True\n')
  t.equal(await output('report', { folder: '/x/pages' }), 'PAGES html\n')
  t.equal(await output('report', { folder: 'y', kind: '-z' }), 'Y -z\n')
  t.equal(await output('init-project', { project_name: 'mine' }), 'made mine\n')

  await put('scripts/office/deep/late.py', '"""Come later."""\nprint("late")\n')
  await until(async () => (await toolsAt(url)).some(({ name }) => name === 'office_deep_late'))
  t.equal(await output('office_deep_late', {}), 'late\n')
})

t.test('a script that takes arguments does not run without them: the error says how it is called', async t => {
  const server = await startServer(home)
  t.teardown(server.stop)
  await rm(join(home.folder, 'begun'), { force: true })
  for (const parameters of [{}, { arguments: [] }]) {
    const { status, body } = await execute(server.url, 'office', 'init-project', parameters)
    t.equal(status, 400)
    t.match(errorOf(body), {
      code: 'INVALID_PARAMETERS',
      message: /; usage: \.\/init\.sh <project-name>$/,
      details: { usage: './init.sh <project-name>' }
    })
  }
  t.notOk(existsSync(join(home.folder, 'begun')), 'nothing of it ran')
  const { status, stderr } = await skillet(home, ['run', 'office:report'])
  t.equal(status, 2)
  t.match(stderr, /folder.*; usage: report\.py <folder> \[format\]/)
})

t.test('a missing module is named, with what installs it, by the run and by doctor; a virtual environment has it', async t => {
  const failed = await skillet(home, ['run', 'office:convert', '--json'])
  t.equal(failed.status, 1)
  const install = 'python3 -m pip install \'python-docx>=1.1\''
  t.match(errorOf(JSON.parse(failed.stderr) as Record<string, unknown>), {
    message: new RegExp(`ModuleNotFoundError.*; install it: ${install.replaceAll('.', '\\.')}`),
    details: { module: 'docx', install }
  })
  interface Findings { findings: { level: string, about: string, text: string, remedy?: string }[] }
  const doctor = async (...args: string[]): Promise<Findings['findings']> =>
    (JSON.parse((await skillet(home, ['doctor', '--json', ...args])).stdout) as Findings).findings.filter(({ about }) =>
      about === 'skill office')
  t.match(await doctor(), [{
    level: 'problem',
    text: 'python3 does not find docx; needed by convert',
    remedy: new RegExp(`^${install.replaceAll('.', '\\.')}, or name a virtual environment`)
  }])

  const venv = join(home.folder, 'venv')
  execFileSync('python3', ['-m', 'venv', '--without-pip', venv])
  const site = execFileSync(join(venv, 'bin', 'python'), ['-c', 'import site; print(site.getsitepackages()[0])'], {
    encoding: 'utf8'
  }).trim()
  await writeFile(join(site, 'docx.py'), 'import os\nopen(os.path.expanduser("~/imported"), "w").close()\nNAME = "from the venv"\n')
  const config = join(home.folder, 'venv.toml')
  await writeFile(config, `[skills.config.office]\npython = "~/venv"\n`)
  t.same(await doctor('--config', config), [])
  t.notOk(existsSync(join(home.folder, 'imported')), 'doctor imports nothing')
  t.match(await skillet(home, ['run', 'office:convert', '--config', config]), {
    status: 0,
    stdout: 'from the venv text\n'
  })
  await writeFile(config, `[skills.config.office]\npython = "${venv}/bin/python"\n`)
  t.match(await skillet(home, ['run', 'office:convert', 'to=html', '--config', config]), {
    status: 0,
    stdout: 'from the venv html\n'
  })
  await writeFile(config, '[skills.config.office]\npython = "~/nowhere"\n')
  t.match(await doctor('--config', config), [{ level: 'note', text: /python: .*\/nowhere does not exist/ }])
})

t.test('a script that names its packages is run by uv, where it is there', async t => {
  t.match(await skillet(home, ['run', 'office:inline']), { status: 0, stdout: 'by python\n' })
  const bin = join(home.folder, 'uv-bin')
  await mkdir(bin)
  await writeFile(join(bin, 'uv'), '#!/bin/sh\necho "uv $@"\n', { mode: 0o755 })
  const env = { PATH: `${bin}:${home.env['PATH']}` }
  t.match(await skillet(home, ['run', 'office:inline', 'arguments=["a"]'], { env }), {
    status: 0,
    stdout: `uv run --script ${join(folder, 'scripts/inline.py')} a\n`
  })
  t.match(await skillet(home, ['run', 'office:report', 'folder=a'], { env }), { status: 0, stdout: 'A html\n' })
})

t.test('a package for Node.js and a command that are missing are named as well', async t => {
  await put('scripts/fetch.mjs', '// Fetch a page.\nimport { parse } from "@some/pages/html"\nconsole.log(parse)\n')
  await put('scripts/print.py', '"""Print a document."""\nimport subprocess\nsubprocess.run(["soffice", "--print"], env={"PATH": "/nowhere"})\n')
  const error = async (tool: string): Promise<ReturnType<typeof errorOf>> =>
    errorOf(JSON.parse((await skillet(home, ['run', `office:${tool}`, '--json'])).stderr) as Record<string, unknown>)
  t.match(await error('fetch'), {
    message: /; install it: npm install --prefix \S*office\/scripts @some\/pages$/,
    details: { module: '@some/pages' }
  })
  t.match(await error('print'), {
    message: /'soffice'; install it with apt-get install libreoffice/,
    details: { packages: { debian: 'libreoffice' } }
  })
  t.match((await skillet(home, ['doctor'])).stdout, /packages for Node\.js are missing: @some\/pages; needed by fetch/)
})
