// Copies files of third-party packages into dist/, which the program serves or loads without changes. The packages are
// needed only for the build: one has 140 MB, of which 15 MB are used; the other reports each installation to a third
// party.
import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const { resolve } = createRequire(import.meta.url)

export async function copyThirdParty () {
  // The interactive documentation of the API.
  copy(dirname(resolve('swagger-ui-dist/package.json')), 'dist/plugins/http/pages/swagger-ui', [
    'swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'favicon-32x32.png', 'LICENSE',
    'NOTICE'
  ])

  // The library that computes the model when the native library can't be loaded.
  const folder = 'dist/plugins/search-hnsw/meaning/onnxruntime-web'
  copy(dirname(resolve('onnxruntime-web')), folder, ['ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'])
  copyFileSync('plugins/search-hnsw/onnxruntime-web.LICENSE', join(folder, 'LICENSE'))
  await build({
    entryPoints: [join(dirname(resolve('onnxruntime-web')), 'ort.node.min.mjs')],
    outfile: join(folder, 'ort.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    legalComments: 'inline',
    logLevel: 'warning'
  })
}

function copy (from, to, files) {
  mkdirSync(to, { recursive: true })
  for (const file of files) copyFileSync(join(from, file), join(to, file))
}
