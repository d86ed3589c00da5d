/**
 * Writes the generated files: those of `schemas/`, pages of `docs/` and a line of `package-lock.json`. With `--check` it
 * writes nothing and fails if a committed file differs. Reads the build: run `npm run build` first.
 */
import { readFile, writeFile } from 'node:fs/promises'
import process from 'node:process'
import openapiTypes, { astToString } from 'openapi-typescript'
import { API_FAULTS } from '../dist/base/catalogue/api.js'
import { COMMAND_FAULTS } from '../dist/base/catalogue/command.js'
import { CONFIG_FAULTS } from '../dist/base/catalogue/config.js'
import { HEALTH_REASONS } from '../dist/base/catalogue/health.js'
import { WIRE_ERRORS } from '../dist/base/catalogue/wire.js'
import * as prices from '../dist/config/vendors/prices.js'
import * as vendors from '../dist/config/vendors/table.js'
import * as metrics from '../dist/metering/metrics/catalogue.js'
import { openApi } from '../dist/schema/api/openapi.js'
import { configSchema, kindSchema, testsSchema } from '../dist/schema/publish.js'
import { conceptsPicture } from './concepts-picture.mjs'
import { configurationPage } from './configuration-page.mjs'
import { metricsPage } from './metrics-page.mjs'
import { pricesPage, vendorsPage } from './vendors-page.mjs'

const ROOT = new URL('../', import.meta.url)
const check = process.argv.includes('--check')

const { version } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8'))

const FILES = {
  'schemas/gw.schema.json': `${JSON.stringify(configSchema(), null, 2)}\n`,
  'schemas/gw-tests.schema.json': `${JSON.stringify(testsSchema(), null, 2)}\n`,
  'console/api/schema.d.ts': await consoleTypes(openApi(version)),
  'schemas/openapi.json': `${JSON.stringify(openApi(version), null, 2)}\n`,
  'docs/concepts.svg': conceptsPicture(),
  'docs/configuration.md': configurationPage(configSchema(), kindSchema),
  'docs/errors.md': errorsPage(),
  'docs/metrics.md': metricsPage(metrics),
  'package-lock.json': await lockFile(),
  'docs/prices.md': pricesPage(prices),
  'docs/vendors.md': vendorsPage(vendors),
}

for (const [file, content] of Object.entries(FILES)) {
  const url = new URL(file, ROOT)
  const committed = await readFile(url, 'utf8').catch(() => '')
  if (committed === content) continue
  if (check) {
    console.error(`${file} differs from the source: run \`npm run generate\` and commit it.`)
    process.exitCode = 1
  } else {
    await writeFile(url, content)
    console.log(`wrote ${file}`)
  }
}

/** The types of the control plane's API for the console: shapes alone, and every failure is a `problem`. */
async function consoleTypes(document) {
  const shapes = structuredClone(document)
  for (const operation of Object.values(shapes.paths).flatMap(Object.values)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      delete response.headers
      if (status >= '400') delete operation.responses[status]
    }
  }
  const withoutTexts = JSON.parse(
    JSON.stringify(shapes, (name, value) =>
      name === 'example' || (name === 'description' && typeof value === 'string') ? undefined : value,
    ),
  )
  const options = { alphabetize: true, defaultNonNullable: false }
  const types = astToString(await openapiTypes(withoutTexts, options))
  return `// Generated from the table of operations by \`npm run generate\`.\n${types}`
}

/**
 * npm compiles every package with a `binding.gyp`, unless its entry in the lock file has `"gypfile": false` as its own
 * `package.json` does; `npm install` does not copy that line.
 */
async function lockFile() {
  const lock = JSON.parse(await readFile(new URL('package-lock.json', ROOT), 'utf8'))
  for (const [folder, entry] of Object.entries(lock.packages)) {
    if (!folder.startsWith('node_modules/')) continue
    const file = new URL(`${folder}/package.json`, ROOT)
    const { gypfile } = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'))
    if (gypfile === false) entry.gypfile = false
  }
  return `${JSON.stringify(lock, null, 2)}\n`
}

function errorsPage() {
  return `# Errors

Generated from \`src/base/catalogue\` by \`npm run generate\`; a test fails if the two differ.

## Inference errors

Every path answers in the error format of its protocol: \`/v1/messages*\` Anthropic-style, every other \`/v1/*\` path
OpenAI-style. There the name below is \`error.code\`, unless another code is given beside the type. SDKs retry 408, 409, 429
and ≥ 500 by themselves unless \`x-should-retry\` is set.

${Object.entries(WIRE_ERRORS).map(wireSection).join('\n')}
## Control plane errors

Problem documents (RFC 9457): \`code\` is the name below, \`type\` is \`urn:gw:problem:\` and the name, \`detail\` describes
this occurrence, \`errors\` lists each invalid field.

${table(
  ['problem', 'status', 'meaning', 'hint'],
  Object.entries(API_FAULTS).map(([code, fault]) => [
    `\`${code}\``,
    String(fault.status),
    fault.title,
    fault.hint,
  ]),
)}
## Health reasons

Each line of \`reasons\` of \`/health\`, on both servers, in \`gw status\` and in \`gw top\`, is one of these codes and a sentence.

${table(
  ['reason', 'meaning', 'hint'],
  Object.entries(HEALTH_REASONS).map(([code, reason]) => [`\`${code}\``, reason.title, reason.hint]),
)}
## Configuration errors

${table(['code', 'meaning', 'hint'], faultRows(CONFIG_FAULTS))}
## Command errors

\`gw\` ends with the same exit code in text and JSON: 0 done · 1 unexpected · 2 changes exist · 3 configuration
invalid · 4 precondition failed · 5 committed but unhealthy, or a probe failed · 64 wrong usage · 130 interrupted.

${table(
  ['code', 'exit', 'meaning', 'hint'],
  Object.values(COMMAND_FAULTS).map(fault => [fault.number, String(fault.exit), fault.title, fault.hint]),
)}`
}

function wireSection([code, error]) {
  const retry = error.shouldRetry === undefined ? '' : ` · \`x-should-retry: ${error.shouldRetry}\``
  const param = error.param ? ` · \`param: ${error.param}\`` : ''
  const openai = error.code === undefined ? error.openaiType : `${error.openaiType}\` / \`${error.code}`
  return `### ${code}

${error.status} · OpenAI \`${openai}\` · Anthropic \`${error.anthropicType}\`${param}${retry}

${error.title} ${error.hint}
`
}

function faultRows(faults) {
  return Object.values(faults).map(({ number, title, hint }) => [number, title, hint])
}

function table(head, rows) {
  const line = cells => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('')
}
