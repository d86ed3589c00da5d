import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { makeProgram } from '../../src/cli/program.ts'
import { openStore } from '../../src/store/open.ts'
import { joinedNode } from '../support/joined-node.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { gw } from './in-process.ts'
import { shapeOf } from './json-shape.ts'
import { FIRST, SECOND } from './sample-tree.ts'
import { billed, NOON_MS, write } from './traffic.ts'

/** docs/json-output.md is made here, by `npx vitest run test/cli/json-output.test.ts -u`; without it they are compared. */

const dir = tempDir(afterAll)
const clock = testClock()

/** In this order, in one folder. `ID` is that of the token that was made last. */
const COMMANDS = `validate
validate -c warned.yaml
diff
plan -o change.gwplan
apply --yes --skip-probe
diff -c second.yaml
test
keys create trial --kind platform --quota 500000 --budget 50/month --expires 30d --issue
keys issue app
keys list
keys show trial
keys rotate app --grace 1h
keys disable app
keys enable app
history
show 1
rollback 1 --dry-run
usage --by key
logs
wallet credit blue 10 --reference invoice-1
wallet debit blue 1 --reference refund-1
wallet adjust blue 0.25 --reference req_1
wallet show blue
wallet entries blue
ledger verify
ledger archive --before 2026-01 ledger-2025.jsonl.gz
ledger archives
why --key app --model chat
why --key app
why --model chat
status
restart
migrate
maintenance on
maintenance status
maintenance off
users create ada --role admin --password -
users list
users link ada
tokens create report --user ada
tokens list
tokens revoke ID
nodes token gpu-7 --ttl 1h
nodes tokens
nodes revoke-token ID
nodes list
nodes show gpu-7
nodes drain gpu-7
nodes uncordon gpu-7
nodes revoke gpu-7
node status --state node.json
gateways list
gateways forget lost --force
keys revoke app --yes
keys delete trial --yes
probe
doctor
backup copy.db
import litellm litellm.yaml
init fresh
explain key.budget
explain GW1202
completion names keys
keys show nothing`.split('\n')

/** Documents of their own, or of a control plane or a database that this page has not. */
const ELSEWHERE = [
  'export',
  'schema',
  'completion bash',
  'completion fish',
  'completion zsh',
  'serve',
  'node join',
  'node leave',
  'top',
  'demo-upstream',
  'login',
  'logout',
  'restore',
  'store copy',
  'users disable',
  'users enable',
  'users reset-password',
  'users set-password',
  'users delete',
]

/** Sections about a file, and about the gateway that {@link write} has been, whose lease goes on. */
const OF_FILE = /^`gw (backup|gateways list)/
const DOCUMENT = new URL('../../docs/json-output.md', import.meta.url)

const INTRODUCTION = `# JSON output

Every command takes \`--format json\`: one document on stdout, nothing else there, and the same exit code as in text. \`gw logs\`
prints one document a line (JSON Lines), also with \`--follow\`. A command that fails prints \`{"error": {…}}\` instead, the last
section here. Under \`gw diff\`, \`gw test\`, \`gw probe\` and \`gw doctor\` an exit code other than 0 is part of the answer.

**What is promised**, from the first release on: a member that stands here keeps its name, meaning and types within a major version. New members
may come at any time, and new words where one of a few is written: ignore what you do not know. Order of members means nothing;
order of lists is what the command's help says. Money is decimal text, times are RFC 3339 in UTC, durations say their unit in
their name. A member that is absent is not known or not set; \`null\` is written where absence itself is the answer.

REST answers with the same document where it has the same operation, and a list is a page: \`data\` and \`next_cursor\`. \`gw
schema\` prints the schema of a configuration, and
[openapi.json](../schemas/openapi.json) has \`/api/v1/why\`, usage, wallets, users and tokens with their bounds. \`gw export --format
json\` prints a configuration (\`gw schema\`), and \`gw schema\` a JSON Schema.

Each section is one command, run by a test on the same small configuration: its members by their paths, \`[]\` for the elements of a
list, and the types that were seen. \`optional\` members are absent from some elements. This page is generated from that run.
`

async function page(): Promise<string> {
  dir.write('gw.yaml', FIRST)
  dir.write('second.yaml', SECOND)
  dir.write(
    'gw.test.yaml',
    'version: 1\ntests:\n  - { name: chat, key: app, may_call: chat }\n  - { key: app, may_call: none }\n',
  )
  dir.write('warned.yaml', FIRST.replace('http://127.0.0.1:9/v1', 'https://api.openai.com'))
  dir.write(
    'litellm.yaml',
    'model_list:\n  - model_name: gpt\n    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }\n',
  )
  const sections: string[] = []
  let id = ''
  for (const line of COMMANDS) {
    if (line === 'usage --by key') {
      await write(dir.at('data/gw.db'), [
        ...billed({ id: 'req_1' }),
        ...billed({ id: 'req_2', flags: ['estimated'], record: { status: 502 } }),
      ])
    }
    if (line === 'gateways list') await reportLost()
    if (line === 'nodes list') await joinedNode(await storeOfFolder(dir.path), 'gpu-7')
    const words = [...line.replace('ID', id).split(' '), '--format', 'json']
    const { stdout } = await gw(words, { cwd: dir.path, clock, stdin: 'a long enough password 42\n' })
    const document: unknown = line === 'logs' ? JSON.parse(stdout.split('\n')[0] ?? '') : JSON.parse(stdout)
    if (/^(tokens create|nodes token) /.test(line)) id = (document as { id: string }).id
    sections.push(`## \`gw ${line}\`\n\n\`\`\`\n${shapeOf(document).join('\n')}\n\`\`\`\n`)
  }
  return [INTRODUCTION, ...sections].join('\n')
}

async function reportLost(): Promise<void> {
  const store = await openStore(await storeOfFolder(dir.path), { mode: 'write', clock, folder: dir.path })
  const more = { version: '1.2.3', url: 'http://127.0.0.1:9', startedAtMs: NOON_MS }
  await store.reportGateway({ id: 'lost', pid: 7, host: 'box', revision: 1, keyVersion: 0, ...more })
  await store.close()
}

describe('docs/json-output.md', () => {
  it('has every member that the commands print with --format json, and no other', async () => {
    const written = await page()
    if (ON_POSTGRES) {
      const sections = (text: string) => text.split('\n## ').filter(section => !OF_FILE.test(section))
      expect(sections(written)).toEqual(sections(readFileSync(DOCUMENT, 'utf8')))
    } else await expect(written).toMatchFileSnapshot('../../docs/json-output.md')
  })

  it('has every command that prints a document', async () => {
    const program = await makeProgram(() => async () => undefined, { out: '', err: '' }, undefined)
    const leaves = (command: typeof program, path: readonly string[]): readonly string[] =>
      command.commands.length === 0
        ? [path.join(' ')]
        : command.commands.flatMap(below => leaves(below, [...path, below.name()]))
    const missing = leaves(program, []).filter(
      path => !ELSEWHERE.includes(path) && !COMMANDS.some(line => `${line} `.startsWith(`${path} `)),
    )
    expect(missing).toEqual([])
  })
})
