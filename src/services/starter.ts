import { join } from 'node:path'
import { type ListedPrice, PRICE_PAGES, PRICES_AS_OF, PRICES_CURRENCY } from '../config/vendors/prices.ts'
import { configSchema } from '../schema/publish.ts'
import type { ChosenUpstream } from './chosen-upstream.ts'
import { CONFIG_FILE, exists, type NewFile, writeNewFiles } from './new-files.ts'

/** The names in the files of a starter configuration. */
interface Names {
  readonly endpoint: string
  readonly model: string
}

const DEMO: Names = { endpoint: 'demo', model: 'chat' }

const HEAD = `# yaml-language-server: $schema=../gw.schema.json
#
# A gateway to start from: one upstream, one model, one tenant, one key.
#
#   gw validate      check it, offline
#   gw test          check the tests of policies.test.yaml, offline
#   gw diff          see what an apply would change
#   gw apply         apply it; a running gateway serves it within a second
#
# \`gw explain FIELD\` says what a field is for. All files of this directory are one configuration.

version: 1
`

const DEMO_UPSTREAM = `
endpoints:
  # An echo server on this machine, for a first call without an account: \`gw demo-upstream\` in another terminal.
  demo:
    protocol: openai
    base_url: http://127.0.0.1:9101/v1
    served_model: demo-chat

  # A vendor account. Never write the key itself: name the environment variable of gw that has it.
  #
  # openai:
  #   protocol: openai
  #   base_url: https://api.openai.com/v1
  #   served_model: gpt-4o-mini
  #   upstream_key: { env: OPENAI_API_KEY }

publications:
  # The model name that applications call, its price per million tokens, and its endpoints.
  chat:
    price: { input: "0.15", output: "0.60" }
    max_output_tokens: 4096
    bindings:
      - endpoint: demo
`

function tenantAndKey({ model }: Names): string {
  return `
tenants:
  my-team:
    display_name: My team

keys:
  # The policy of a key, without its secret: \`gw keys issue my-app\` mints a secret and prints it once.
  my-app:
    kind: tenant
    tenant: my-team
    models: [${yamlText(model)}]
    limits: { rpm: 600, concurrency: 20 }
    budget: { amount: "50", per: month }
`
}

/** The YAML of an endpoint at a vendor or an engine, with its publication. */
function chosenEndpoint({ vendor, model, baseUrl, price }: ChosenUpstream): string {
  const { id, title, protocol, auth, keyVariable, note } = vendor
  const lines = [
    '',
    'endpoints:',
    `  # ${title}; docs: ${vendor.source}`,
    ...(note?.match(/.{1,110}(?:\s|$)/g) ?? []).map(line => `  # ${line.trimEnd()}`),
    `  ${id}:`,
    `    protocol: ${protocol}`,
    `    base_url: ${yamlText(baseUrl)}`,
    `    served_model: ${yamlText(model)}`,
    ...(auth === undefined ? [] : [`    auth: ${auth}`]),
    ...(keyVariable === undefined
      ? ['    # upstream_key: { env: NAME }']
      : [
          '    # Never write the key itself: name the environment variable of gw that has it.',
          `    upstream_key: { env: ${keyVariable} }`,
        ]),
    '',
    'publications:',
    '  # The model name that applications call, its price per million tokens, and its endpoints.',
    `  ${yamlText(model)}:`,
    ...priceLines(price),
    '    max_output_tokens: 4096',
    '    bindings:',
    `      - endpoint: ${id}`,
    '',
  ]
  return lines.join('\n')
}

function priceLines(price: ListedPrice | undefined): readonly string[] {
  if (price === undefined)
    return ['    # price: { input: "0.15", output: "0.60" }    # without a price, calls are free']
  const amounts = Object.entries(price.price).map(([field, amount]) => `${field}: "${amount}"`)
  return [
    `    # ${PRICES_CURRENCY}, as listed on ${PRICES_AS_OF}: ${PRICE_PAGES[price.account] ?? ''}`,
    ...(price.note === undefined ? [] : [`    # ${price.note}`]),
    `    price: { ${amounts.join(', ')} }`,
  ]
}

function tests({ endpoint, model }: Names, cost: boolean): string {
  const lines = [
    '# Tests of the configuration in this directory: `gw test` runs them offline, in CI too.',
    '',
    'version: 1',
    '',
    'tests:',
    '  - name: my-app may call it',
    '    key: my-app',
    `    may_call: ${yamlText(model)}`,
    `  - model: ${yamlText(model)}`,
    `    routes_to: [${endpoint}]`,
    ...(cost
      ? [
          '  - name: a thousand tokens in and two hundred out',
          `    model: ${yamlText(model)}`,
          '    usage: { input: 1000, output: 200 }',
          '    costs: "0.00027"',
        ]
      : []),
    '',
  ]
  return lines.join('\n')
}

/** Text as a YAML scalar: quoted unless it is a plain name or URL. */
function yamlText(text: string): string {
  return /^(?:[A-Za-z][A-Za-z0-9_./-]*|https?:[^\s#,[\]{}"']+)$/.test(text) ? text : JSON.stringify(text)
}

const IGNORED = `# The store of gw, its key, and secrets.
data/
.env
`

/** Plans against the base branch in a temporary store: a pull request needs no access to a gateway. */
const WORKFLOW = `# Checks the configuration of gw in each pull request, and annotates its lines with the changes.
name: gw

on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0
      - uses: actions/setup-node@v5
        with:
          node-version: 22
      - name: Install gw
        # The package from \`npm pack\` of gw, as a URL or a path: a variable of this repository.
        env:
          GW_PACKAGE: \${{ vars.GW_PACKAGE }}
        run: npm install --global "\${GW_PACKAGE:?set the variable GW_PACKAGE of this repository}"
      - name: Validate
        run: gw validate --format github
      - name: Test
        run: gw test --format github
      - name: What would change
        if: github.event_name == 'pull_request'
        env:
          BASE: \${{ github.event.pull_request.base.sha }}
        run: |
          git worktree add --detach ../base "$BASE"
          if [ -d ../base/config ]; then
            gw apply -c ../base/config --store sqlite:../base.db --skip-probe --yes > ../base.log
          fi
          gw diff --store sqlite:../base.db --format github
`

const IGNORE_FILE = '.gitignore'

export interface Started {
  /** The written files, relative to the folder. */
  readonly files: readonly string[]
  /** A `.gitignore` existed already, and was not changed. */
  readonly ignoreStands: boolean
}

/**
 * Writes a starter configuration with its tests and a CI workflow for both.
 *
 * @param upstream absent: the demo upstream.
 * @throws {CommandError} file_exists if one of the files already exists; then nothing is written.
 */
export async function startFolder(folder: string, upstream?: ChosenUpstream): Promise<Started> {
  const ignoreStands = await exists(join(folder, IGNORE_FILE))
  const names = upstream ? { endpoint: upstream.vendor.id, model: upstream.model } : DEMO
  const served = upstream ? chosenEndpoint(upstream) : DEMO_UPSTREAM
  const files: readonly NewFile[] = [
    { path: 'config/gateway.yaml', content: `${HEAD}${served}${tenantAndKey(names)}` },
    { path: 'config/policies.test.yaml', content: tests(names, upstream === undefined) },
    { path: 'gw.schema.json', content: `${JSON.stringify(configSchema(), null, 2)}\n` },
    { path: '.github/workflows/gw.yml', content: WORKFLOW },
    ...(ignoreStands ? [] : [{ path: IGNORE_FILE, content: IGNORED }]),
  ]
  await writeNewFiles(folder, files, CONFIG_FILE)
  return { files: files.map(({ path }) => path), ignoreStands }
}
