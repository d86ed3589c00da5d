import { beforeAll, describe, expect, test } from 'vitest'
import { OPERATION_IDS, type OperationId } from '../../src/schema/api/operations.ts'
import { probeEndpoints } from '../../src/server/endpoint-probe.ts'
import { MasterKey } from '../../src/store/master-key.ts'
import { isPostgresUrl } from '../../src/store/url.ts'
import { type ControlScene, controlScene, type LoggedIn, type Sent } from '../admin/scene.ts'
import { rejected } from '../store/ledger/rows.ts'
import { json } from '../support/answers.ts'
import { joinedNode } from '../support/joined-node.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { gw } from './in-process.ts'
import { billed, write, writeRejected } from './traffic.ts'

/** A command and the operation that answers with the same document. */
interface Pair {
  readonly words: string | ((scene: ControlScene) => Promise<string>)
  readonly id: OperationId
  readonly sent?: Sent | ((scene: ControlScene) => Promise<Sent>)
  /** For the standard input of the command. */
  readonly stdin?: string
  /** Members that each call makes anew: both must have them, with the same type. */
  readonly fresh?: readonly string[]
  /** The state that the pair needs. */
  readonly begin?: (scene: ControlScene) => Promise<unknown>
  /** For changes: what happens between the two, so that both begin with the same state. */
  readonly undo?: (scene: ControlScene, as: LoggedIn) => Promise<unknown>
}

const K = { params: { name: 'k' } }
const UP = { params: { name: 'up' } }
const GPU = { params: { name: 'gpu-7' } }
const ACME = { params: { name: 'acme' } }
const MADE = ['created_at', 'created_revision', 'updated_revision', 'revision', 'owner']

const YAML = `version: 1
set: more
endpoints:
  more: { protocol: openai, base_url: "http://127.0.0.1:9/v1", served_model: m }
publications:
  more-chat: { price: { input: 1 }, bindings: [{ endpoint: more }] }
`

const TEMPORARY = { name: 'temporary', kind: 'platform' }

async function head({ store }: ControlScene): Promise<number> {
  return (await store.head()).revision
}

function reportLost({ store }: ControlScene): Promise<void> {
  const lost = { id: 'lost', pid: 7, host: 'box', startedAtMs: 0, revision: 1, keyVersion: 0 }
  return store.reportGateway(lost)
}

const PAIRS: readonly Pair[] = [
  {
    words: async scene => `show ${await head(scene)}`,
    id: 'get_revision',
    sent: async scene => ({ params: { id: String(await head(scene)) } }),
  },
  {
    words: async scene => `show ${await head(scene)} --since 1`,
    id: 'get_revision',
    sent: async scene => ({ params: { id: String(await head(scene)) }, query: { since: '1' } }),
  },
  { words: 'diff -c -', stdin: YAML, id: 'plan_config', sent: { body: { yaml: YAML } } },
  { words: 'validate -c -', stdin: YAML, id: 'validate_config', sent: { body: { yaml: YAML } } },
  {
    words: 'apply -c - --yes --skip-probe --no-wait',
    stdin: YAML,
    id: 'apply_config',
    sent: async scene => ({ body: { yaml: YAML, base: await head(scene), skip_probe: true } }),
    fresh: ['revision', 'base'],
    undo: async (scene, as) => {
      const before = (await head(scene)) - 1
      return scene.call('roll_back', { as, body: { revision: before, allow_deletes: 3 } })
    },
  },
  {
    words: async scene => `rollback ${(await head(scene)) - 1} --yes --no-wait`,
    id: 'roll_back',
    sent: async scene => ({ body: { revision: (await head(scene)) - 1 } }),
    fresh: ['revision', 'base', 'restores'],
    begin: scene => scene.call('create_key', { as, body: TEMPORARY }),
    undo: ({ call }, as) => call('create_key', { as, body: TEMPORARY }),
  },
  { words: 'keys list', id: 'list_keys', sent: { query: { limit: '500' } } },
  { words: 'keys show k', id: 'get_key', sent: K },
  {
    words: 'keys create made --kind platform --quota 5',
    id: 'create_key',
    sent: { body: { name: 'made', kind: 'platform', limits: {}, quota: 5 } },
    fresh: MADE,
    undo: ({ call }, as) => call('delete_key', { as, params: { name: 'made' } }),
  },
  {
    words: 'keys delete spare --yes',
    id: 'delete_key',
    sent: { params: { name: 'spare' } },
    fresh: ['revision'],
    undo: ({ call }, as) => call('create_key', { as, body: { name: 'spare', kind: 'platform' } }),
  },
  {
    words: 'keys issue k',
    id: 'issue_key',
    sent: K,
    fresh: ['secret'],
    undo: ({ store }) => store.revokeSecrets('k'),
  },
  {
    words: 'keys rotate k --grace 1h',
    id: 'rotate_key',
    sent: { ...K, body: { grace: '1h' } },
    fresh: ['secret'],
  },
  { words: 'keys disable k', id: 'disable_key', sent: K, undo: ({ store }) => store.resumeKey('k') },
  {
    words: 'keys enable k',
    id: 'enable_key',
    sent: K,
    begin: ({ store }) => store.suspendKey('k'),
    undo: ({ store }) => store.suspendKey('k'),
  },
  {
    words: 'keys revoke k',
    id: 'revoke_key',
    sent: K,
    begin: async ({ store }) => {
      await store.resumeKey('k')
      await store.revokeSecrets('k')
      await store.issueSecrets([{ key: 'k', digest: 'c'.repeat(64) }])
    },
    undo: ({ store }) => store.issueSecrets([{ key: 'k', digest: 'b'.repeat(64) }]),
  },
  { words: 'why --key k --model chat', id: 'explain', sent: { query: { key: 'k', model: 'chat' } } },
  { words: 'why --key k', id: 'explain', sent: { query: { key: 'k' } } },
  {
    words: 'why --model chat --input-tokens 9',
    id: 'explain',
    sent: { query: { model: 'chat', input_tokens: '9' } },
  },
  {
    words: 'why --secret - --model chat',
    stdin: 'gw_nobodys\n',
    id: 'explain_secret',
    sent: { body: { secret: 'gw_nobodys', model: 'chat' } },
  },
  { words: 'probe up', id: 'probe_endpoint', sent: UP, fresh: ['latency_ms'] },
  {
    words: 'probe up --paths',
    id: 'probe_endpoint',
    sent: { ...UP, query: { paths: 'true' } },
    fresh: ['latency_ms'],
  },
  { words: 'probe shy', id: 'probe_endpoint', sent: { params: { name: 'shy' } } },
  { words: 'probe off', id: 'probe_endpoint', sent: { params: { name: 'off' } }, fresh: ['latency_ms'] },
  { words: 'wallet show acme', id: 'get_wallet', sent: ACME },
  {
    words: 'wallet credit acme 5 --reference same',
    id: 'credit_wallet',
    sent: { ...ACME, body: { amount: '5', reference: 'same' } },
    fresh: ['booked'],
  },
  {
    words: 'wallet debit acme 1 --reference refund',
    id: 'debit_wallet',
    sent: { ...ACME, body: { amount: '1', reference: 'refund' } },
    fresh: ['booked'],
  },
  { words: 'wallet entries acme', id: 'list_wallet_entries', sent: ACME },
  {
    words: 'wallet entries acme --limit 1',
    id: 'list_wallet_entries',
    sent: { ...ACME, query: { limit: '1' } },
  },
  { words: 'usage --by key', id: 'get_usage', sent: { query: { by: 'key' } } },
  {
    words: 'usage --by key --split model',
    id: 'get_usage',
    sent: { query: { by: 'key', split: 'model' } },
  },
  {
    words: 'usage --by day --since 2026-01-10 --tenant acme',
    id: 'get_usage',
    sent: { query: { by: 'day', since: '2026-01-10T00:00:00Z', tenant: 'acme' } },
  },
  { words: 'history', id: 'list_revisions', sent: { query: { limit: '20' } } },
  { words: 'history --limit 1', id: 'list_revisions', sent: { query: { limit: '1' } } },
  {
    words: 'status',
    id: 'get_status',
    begin: ({ store }) =>
      store.reportGateway({
        id: 'g',
        pid: 7,
        host: 'box',
        url: 'http://127.0.0.1:9',
        version: '1.2.3',
        startedAtMs: 0,
        revision: 1,
        keyVersion: 1,
        rejected: { revision: 2, reason: 'no price' },
      }),
  },
  { words: 'users list', id: 'list_users', sent: { query: { limit: '500' } } },
  {
    words: 'users create tom --tenant acme --password -',
    stdin: 'a long enough password 42\n',
    id: 'create_user',
    sent: { body: { name: 'tim', role: 'tenant', tenant: 'acme', password: 'a long enough password 42' } },
    fresh: ['name'],
  },
  {
    words: 'users disable bob',
    id: 'update_user',
    sent: { params: { name: 'bob' }, body: { enabled: false }, headers: { 'if-match': '*' } },
  },
  { words: 'tokens list --user ada', id: 'list_tokens', sent: { query: { user: 'ada' } } },
  {
    words: 'tokens create one --user ada --expires 30d',
    id: 'create_token',
    sent: { body: { name: 'two', expires_in: '30d' } },
    fresh: ['id', 'name', 'token'],
  },
  {
    words: 'maintenance on --message Soon.',
    id: 'set_maintenance',
    sent: { body: { enabled: true, message: 'Soon.' } },
    fresh: ['author'],
    undo: ({ store }) => store.switchMaintenanceOff(),
  },
  { words: 'nodes list', id: 'list_nodes' },
  { words: 'nodes show gpu-7', id: 'get_node', sent: GPU },
  {
    words: 'nodes drain gpu-7',
    id: 'drain_node',
    sent: GPU,
    undo: ({ store }) => store.nodes.uncordon('gpu-7'),
  },
  {
    words: 'nodes uncordon gpu-7',
    id: 'uncordon_node',
    sent: GPU,
    begin: ({ store }) => store.nodes.drain('gpu-7'),
    undo: ({ store }) => store.nodes.drain('gpu-7'),
  },
  {
    words: 'nodes revoke gpu-7',
    id: 'revoke_node',
    sent: GPU,
    undo: ({ storeAt }) => joinedNode(storeAt, 'gpu-7'),
  },
  { words: 'nodes tokens', id: 'list_join_tokens' },
  {
    words: 'nodes token gpu-8 --ttl 1h --label pool=a',
    id: 'create_join_token',
    sent: { body: { pattern: 'gpu-8', labels: { pool: 'a' }, expires_in: '1h' } },
    fresh: ['id', 'token', 'created_by'],
  },
  { words: 'gateways list', id: 'list_gateways', begin: reportLost },
  {
    words: 'gateways forget lost --force',
    id: 'forget_gateway',
    sent: { params: { id: 'lost' }, query: { force: 'true' } },
    begin: reportLost,
    undo: reportLost,
  },
  { words: 'maintenance status', id: 'get_maintenance' },
  {
    words: 'maintenance off',
    id: 'set_maintenance',
    sent: { body: { enabled: false } },
    begin: ({ store }) => store.switchMaintenanceOn({}),
    undo: ({ store }) => store.switchMaintenanceOn({}),
  },
]

/** The operations without a command that prints their document, each with the reason. */
const WITHOUT_COMMAND: Partial<Record<OperationId, string>> = {
  log_in: 'a session belongs to a client of REST; `gw login` saves a token',
  log_in_by_link: 'a session belongs to a client of REST; `gw users link` makes the link',
  get_session: 'a session belongs to a client of REST',
  log_out: 'a session belongs to a client of REST',
  log_out_everywhere: 'a session belongs to a client of REST',
  change_password: 'a session belongs to a client of REST',
  get_user: '`gw users list` shows all',
  reset_password: 'answers 204 without a document; `gw users reset-password` says that it is done',
  end_user_sessions: 'only over REST; `gw users disable` also ends the sessions',
  revoke_token: 'answers 204 without a document; `gw tokens revoke` says that it is done',
  revoke_join_token: 'answers 204 without a document; `gw nodes revoke-token` says that it is done',
  list_sets: 'only over REST; on the command line `set:` in the files names one',
  export_config: 'answers with the file in a document; `gw export` prints the file itself',
  list_endpoints: 'on the command line endpoints are in files',
  create_endpoint: 'on the command line endpoints are in files',
  get_endpoint: 'on the command line endpoints are in files',
  update_endpoint: 'on the command line endpoints are in files',
  enable_endpoint: 'on the command line endpoints are in files',
  disable_endpoint: 'on the command line endpoints are in files',
  delete_endpoint: 'on the command line endpoints are in files',
  list_models: 'only over REST; `gw why --key NAME` shows the models of a key',
  list_publications: 'on the command line publications are in files',
  create_publication: 'on the command line publications are in files',
  get_publication: 'on the command line publications are in files',
  update_publication: 'on the command line publications are in files',
  delete_publication: 'on the command line publications are in files',
  list_bindings: 'on the command line bindings are in files',
  create_binding: 'on the command line bindings are in files',
  get_binding: 'on the command line bindings are in files',
  update_binding: 'on the command line bindings are in files',
  delete_binding: 'on the command line bindings are in files',
  list_tenants: 'on the command line tenants are in files',
  create_tenant: 'on the command line tenants are in files',
  get_tenant: 'on the command line tenants are in files',
  update_tenant: 'on the command line tenants are in files',
  delete_tenant: 'on the command line tenants are in files',
  update_key: 'on the command line the policy of a key is in a file, or given at its creation',
  list_calls: '`gw logs` prints JSON Lines of the same documents: see below',
  list_rejections: '`gw logs` prints JSON Lines of the same documents, without ids: see below',
  list_audit: 'only over REST',
  preview_change: 'on the command line the change is in a file: `gw diff`',
  get_pulse: '`gw top --format json` prints a line of the same document for each sample',
  probe_candidate: 'on the command line endpoints are in files: `gw probe -c FILE`',
  call_playground: 'applications call the gateway itself',
  watch_events: 'only over REST; `gw top` and `gw logs --follow` watch on the command line',
}

let scene: ControlScene
let as: LoggedIn

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const upstream = await scriptedUpstream(end => void ends.push(end))
  upstream.answer(json({ choices: [] }))
  const masterKey = MasterKey.of('sqlite:gw.db', '/', undefined)
  scene = await controlScene(end => void ends.push(end), {
    probe: (order, options) => {
      const { store, clock } = scene
      const { signal } = new AbortController()
      return probeEndpoints([order], options, { store, clock, signal, environment: {}, masterKey })
    },
  })
  await scene.addUser('ada', 'admin')
  await scene.addUser('bob', 'admin')
  await joinedNode(scene.storeAt, 'gpu-7')
  as = await scene.logIn('ada')
  for (const [name, more] of [
    ['up', {}],
    ['shy', { skip_probe: true }],
    ['off', { enabled: false }],
  ] as const) {
    const endpoint = { name, protocol: 'openai', base_url: `${upstream.url}/v1`, served_model: 'm', ...more }
    await scene.call('create_endpoint', { as, body: endpoint })
  }
  await scene.call('create_publication', { as, body: { name: 'chat', price: { input: 1 } } })
  for (const endpoint of ['up', 'shy']) {
    const body = { publication: 'chat', endpoint, served_model: `chat-of-${endpoint}` }
    await scene.call('create_binding', { as, body })
  }
  const made = {
    as,
    body: { name: 'k', kind: 'tenant', tenant: 'acme', budget: { amount: '5', per: 'month' } },
  }
  await scene.call('create_key', made)
  await scene.call('create_key', { as, body: { name: 'spare', kind: 'platform' } })
  await scene.call('credit_wallet', { as, ...ACME, body: { amount: '9.5', reference: 'first' } })
  await scene.call('credit_wallet', { as, ...ACME, body: { amount: '1', reference: 'second', note: 'n' } })
  await write(scene.storeAt, billed({ id: 'req_1', tenant: 'acme' }))
  await writeRejected(scene.storeAt, [rejected('req_2', { tenant: 'acme', key: 'acme/k' })])
  return async () => {
    for (const end of ends) await end()
  }
}, 30_000)

async function printed({ words, stdin }: Pick<Pair, 'words' | 'stdin'>): Promise<string> {
  const line = typeof words === 'string' ? words : await words(scene)
  const store = isPostgresUrl(scene.storeAt) ? scene.storeAt : `sqlite:${scene.storeAt}`
  const { exit, stdout, stderr } = await gw([...line.split(' '), '--format', 'json', '--store', store], {
    cwd: '/',
    clock: scene.clock,
    environment: { USER: 'ada' },
    ...(stdin !== undefined && { stdin }),
  })
  expect(exit, stderr).toBe(0)
  return stdout
}

async function printedLines(words: string): Promise<unknown[]> {
  const lines = (await printed({ words })).trim().split('\n')
  return lines.map(line => JSON.parse(line) as unknown)
}

/** The document with placeholders for the fresh members; the order of members counts. */
function essence(document: unknown, fresh: readonly string[]): string {
  const replaced = (name: string, value: unknown) => (fresh.includes(name) ? typeof value : value)
  return JSON.stringify(document, replaced, 2)
}

describe('a command and an operation of REST show the same document:', () => {
  test.each(PAIRS)('$id: gw $words', async ({ id, sent = {}, fresh = [], begin, undo, ...command }) => {
    await begin?.(scene)
    const document: unknown = JSON.parse(await printed(command))
    await undo?.(scene, as)
    const answered = await scene.call(id, { as, ...(typeof sent === 'function' ? await sent(scene) : sent) })
    expect(answered.status, JSON.stringify(answered.body)).toBeLessThan(300)
    expect(essence(document, fresh)).toBe(essence(answered.body, fresh))
  })

  test('gw logs, list_calls: each line is one element', async () => {
    const { body } = await scene.call('list_calls', { as })
    expect(body.data.length).toBeGreaterThan(0)
    expect(await printedLines('logs --outcome answered')).toEqual(body.data.toReversed())
  })

  test('gw logs, list_rejections: each line is one element without its id', async () => {
    const { body } = await scene.call('list_rejections', { as })
    expect(body.data.length).toBeGreaterThan(0)
    const withoutIds = body.data.map(({ id: _id, ...line }) => line)
    expect(await printedLines('logs --outcome rejected')).toEqual(withoutIds.toReversed())
  })
})

test('each operation has its command, or a reason why it has none', () => {
  const paired = new Set<OperationId>(PAIRS.map(({ id }) => id))
  const reasons = Object.keys(WITHOUT_COMMAND) as OperationId[]
  expect(OPERATION_IDS.filter(id => !paired.has(id) && !reasons.includes(id))).toEqual([])
  expect(reasons.filter(id => paired.has(id) || !OPERATION_IDS.includes(id))).toEqual([])
})
