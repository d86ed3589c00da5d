import { join } from 'node:path'
import { configSchema } from '../schema/publish.ts'
import { exists, type NewFile, writeNewFiles } from './new-files.ts'

const GATEWAY = `# yaml-language-server: $schema=../gw.schema.json
#
# A gateway to start from: one upstream, one model, one tenant, one key.
#
#   gw validate      check it, offline
#   gw test          check what policies.test.yaml promises, offline
#   gw diff          see what an apply would change
#   gw apply         make it so; a running gateway takes it over within a second
#
# \`gw explain FIELD\` says what a field is for. Files of this directory are read together, in any arrangement.

version: 1

endpoints:
  # An echo on this machine, for a first call without an account: \`gw demo-upstream\` in another terminal.
  demo:
    protocol: openai
    base_url: http://127.0.0.1:9101/v1
    served_model: demo-chat

  # An account at a vendor. Never the key itself: the name of the variable that holds it where gw runs.
  #
  # openai:
  #   protocol: openai
  #   base_url: https://api.openai.com/v1
  #   served_model: gpt-4o-mini
  #   upstream_key: { env: OPENAI_API_KEY }

publications:
  # The name that applications call, what it costs per million tokens, and who serves it.
  chat:
    price: { input: "0.15", output: "0.60" }
    max_output_tokens: 4096
    bindings:
      - endpoint: demo

tenants:
  my-team:
    display_name: My team

keys:
  # The policy of a key. Its secret stands nowhere: \`gw keys issue my-app\` mints it and prints it once.
  my-app:
    kind: tenant
    tenant: my-team
    models: [chat]
    limits: { rpm: 600, concurrency: 20 }
    budget: { amount: "50", per: month }
`

const TESTS = `# What must stay true, whoever changes the files beside this one: \`gw test\` checks it offline, in CI too.

version: 1

tests:
  - name: my-app may chat
    key: my-app
    may_call: chat
  - model: chat
    routes_to: [demo]
  - name: a thousand tokens in and two hundred out
    model: chat
    usage: { input: 1000, output: 200 }
    costs: "0.00027"
`

const IGNORED = `# The store of gw, its key, and secrets.
data/
.env
`

/** Against the state of the base branch in a store of its own: a pull request needs no access to a gateway. */
const WORKFLOW = `# Checks the configuration of gw in each pull request, and says at its lines what it would change.
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
        # The package that \`npm pack\` makes of gw, by address or by path: a variable of this repository.
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
  /** What was written, below the folder. */
  readonly files: readonly string[]
  /** There was a `.gitignore` already, which was left alone. */
  readonly ignoreStands: boolean
}

/**
 * Writes a configuration to start from, with its tests and what checks both in CI.
 * @throws {CommandError} GW4018 where one of the files is there already; nothing is written then.
 */
export async function startFolder(folder: string): Promise<Started> {
  const ignoreStands = await exists(join(folder, IGNORE_FILE))
  const files: readonly NewFile[] = [
    { path: 'config/gateway.yaml', content: GATEWAY },
    { path: 'config/policies.test.yaml', content: TESTS },
    { path: 'gw.schema.json', content: `${JSON.stringify(configSchema(), null, 2)}\n` },
    { path: '.github/workflows/gw.yml', content: WORKFLOW },
    ...(ignoreStands ? [] : [{ path: IGNORE_FILE, content: IGNORED }]),
  ]
  await writeNewFiles(folder, files)
  return { files: files.map(({ path }) => path), ignoreStands }
}
