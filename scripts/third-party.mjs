// Puts files of other projects into dist/ that the program serves or loads as they are. Their packages are needed for
// the build alone: one brings 140 MB of which 15 are used, the other a script that tells strangers of each install.
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

  // What computes the model where the native library can't be loaded.
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
