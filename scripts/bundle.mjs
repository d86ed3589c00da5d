// @ts-check
/**
 * Joins built modules into a few files: to find and link more than four hundred takes nearly half of a start
 * (docs/decisions/0019-one-bundle.md).
 *
 *     node scripts/bundle.mjs                        # dist/bundle, from which bin/gw.js runs
 *     node scripts/bundle.mjs FOLDER ENTRY …         # other entries, in a folder of their own
 *
 * `dist/node/gw-node.mjs` is a node in one file, for machines that have Node and nothing else.
 *
 * All files lie in one folder, so that a module which names another by `import.meta.url` finds it beside itself, as it
 * does in the source. What a thread runs is therefore an entry of its own.
 */
import { readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const ENTRIES = [
  'dist/cli/main.js',
  'dist/store/ledger/worker.js',
  'dist/server/files/files-thread.js',
  'dist/server/workers/control-thread.js',
  'dist/server/workers/configurations-thread.js',
  'dist/server/workers/hashing-thread.js',
]

const [folder = 'dist/bundle', ...named] = process.argv.slice(2)
const entries = named.length > 0 ? named : ENTRIES
await build({
  cwd: ROOT,
  input: Object.fromEntries(entries.map(path => [basename(path, extname(path)), join(ROOT, path)])),
  platform: 'node',
  // Native, or asked for by a person at a terminal only, or by a store in PostgreSQL only.
  external: ['better-sqlite3', 'ink', /^react/, 'pg'],
  output: { dir: folder, cleanDir: true, entryFileNames: '[name].js', chunkFileNames: 'part-[name].js' },
})

if (named.length === 0) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  await build({
    cwd: ROOT,
    input: join(ROOT, 'dist/agent/main.js'),
    platform: 'node',
    transform: { define: { GW_VERSION: JSON.stringify(version) } },
    output: { file: 'dist/node/gw-node.mjs', banner: '#!/usr/bin/env node', minify: true },
  })
}
