import type { OperationId, OperationOf } from './operations.ts'
import type { Fields } from './reshape.ts'

type WithBody = {
  [Id in OperationId]: OperationOf<Id> extends { readonly body: unknown } ? Id : never
}[OperationId]

const YAML = `version: 1
set: team-a
endpoints:
  local: { protocol: openai, base_url: "http://127.0.0.1:9101/v1", served_model: demo }
publications:
  fast-chat: { bindings: [{ endpoint: local }] }
`

/**
 * The example bodies of the document, used by "Try it out": together they set up a model, a tenant and its key. Each is
 * valid by the schema of its body; a body without an example does not compile.
 */
const EXAMPLES = {
  log_in: { username: 'admin', password: 'correct horse battery' },
  log_in_by_link: { link: 'gwl_8Jx…' },
  change_password: { current_password: 'correct horse battery', new_password: 'even more correct horses' },

  create_user: { name: 'ada', password: 'correct horse battery', role: 'tenant', tenant: 'acme' },
  update_user: { enabled: false },
  reset_password: { password: 'even more correct horses' },

  create_token: { name: 'nightly report', scope: 'read', expires_in: '30d' },

  create_endpoint: {
    name: 'embedder',
    protocol: 'openai',
    base_url: 'http://127.0.0.1:9101/v1',
    served_model: 'demo-embedding',
    upstream_key: 'sk-the-key-of-the-vendor',
    skip_probe: true,
  },
  update_endpoint: { display_name: 'Embeddings, on the rack in the cellar', max_concurrency: 32 },
  probe_candidate: {
    protocol: 'openai',
    base_url: 'https://api.openai.com/v1',
    upstream_key: 'sk-the-key-of-the-vendor',
  },
  create_publication: { name: 'text-embedding', price: { input: '0.02' } },
  update_publication: { status: 'unlisted' },
  create_binding: { publication: 'text-embedding', endpoint: 'embedder' },
  update_binding: { weight: 0 },

  create_tenant: { name: 'acme', display_name: 'ACME Inc.', billing: 'prepaid' },
  update_tenant: { limits: { rpm: 600 } },
  credit_wallet: { amount: '50.00', reference: 'invoice-2026-0042', note: 'Paid by bank transfer' },
  debit_wallet: { amount: '12.50', reference: 'refund-2026-0007' },

  create_key: {
    name: 'acme-search',
    kind: 'tenant',
    tenant: 'acme',
    models: ['text-embedding'],
    budget: { amount: '20.00', per: 'month', timezone: 'Europe/Berlin' },
  },
  update_key: { limits: { rpm: 60 }, budget: null },
  rotate_key: { grace: '24h' },

  call_playground: {
    secret: 'gw_the-secret-of-a-key',
    path: '/v1/chat/completions',
    body: { model: 'text-embedding', messages: [{ role: 'user', content: 'Hello!' }] },
  },

  create_join_token: { pattern: 'gpu-7', expires_in: '1h' },

  validate_config: { yaml: YAML },
  plan_config: { yaml: YAML },
  preview_change: { kind: 'key', name: 'acme-search', patch: { limits: { rpm: 30 } } },
  apply_config: { yaml: YAML, base: 1, skip_probe: true },
  roll_back: { revision: 1 },

  explain_secret: { secret: 'the whole secret of a client', model: 'chat' },

  set_maintenance: { enabled: true, message: 'Back at noon.' },
} as const satisfies Readonly<Record<WithBody, Fields>>

/** The example body of an operation; undefined if it has no body. */
export function exampleOf(id: OperationId): Fields | undefined {
  const examples: { readonly [Id in OperationId]?: Fields } = EXAMPLES
  return examples[id]
}
