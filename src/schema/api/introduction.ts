import type { Tag } from './types.ts'

/** The introduction of the OpenAPI document, in Markdown. */
export const INTRODUCTION = `# Logging in

\`POST /api/v1/session\` with a name and a password. \`gw users create\` makes the first administrator, or
\`GW_ADMIN_PASSWORD\` in the environment of \`gw serve\`.

- **Scripts** get a \`token\` and send it as \`authorization: Bearer …\`.
- **Browsers** ask for \`carrier: cookie\`: they get a cookie that no script can read, and a \`csrf_token\` to be sent as
  \`x-csrf-token\` with each change.

A session ends 30 minutes after its last use and 12 hours after the log-in at the latest. A user of the role \`admin\`
may do everything; a user of the role \`tenant\` sees its own tenant, and everything else is a 404. An API key for inference
is not accepted here, and a session is not accepted by the gateway.

# Ownership

Only \`gw apply\` changes resources that a configuration file declares: a write to them here is a 409 that names the file and
the line. \`gw apply\` does not change resources that were created here. In an incident a key can be disabled or revoked here at once,
whatever its owner.

# Changes

Every change of the configuration is a new revision, and gateways serve it within a second. An answer with a single
resource carries an \`etag\`; a \`PATCH\` sends it back as \`if-match\` and is rejected with 412 if the resource has changed
meanwhile. A \`PATCH\` is a JSON merge patch: absent fields stay, \`null\` resets a field to its default. Each
change leaves a line in the audit log.

Names in paths are one segment, percent-encoded: the publication \`openai/gpt-4o\` is at
\`/api/v1/publications/openai%2Fgpt-4o\`. Lists come in pages: \`next_cursor\` of one is the \`cursor\` of the next. Times are
RFC 3339 in UTC, money is an exact decimal in quotes.

# Failures

A failure is a [problem document](https://www.rfc-editor.org/rfc/rfc9457): \`code\` identifies the error for programs; \`detail\` describes
this occurrence; \`hint\` says how to fix it; \`errors\` lists each invalid field. \`request_id\` identifies the request
in the log.
`

/** The display names of the tags. */
export const TITLES: Readonly<Record<Tag, string>> = {
  session: 'Session',
  users: 'Users',
  tokens: 'Tokens',
  endpoints: 'Endpoints',
  nodes: 'Nodes',
  publications: 'Publications',
  bindings: 'Bindings',
  tenants: 'Tenants',
  wallet: 'Wallet',
  keys: 'Keys',
  usage: 'Usage',
  'call-logs': 'Call logs',
  config: 'Configuration',
  maintenance: 'Maintenance',
  status: 'Status',
  why: 'Why',
  audit: 'Audit',
}

/** Groups of tags (https://redocly.com/docs/realm/author/reference/openapi-extensions/x-tag-groups). */
export const GROUPS: readonly { readonly name: string; readonly tags: readonly Tag[] }[] = [
  { name: 'Access', tags: ['session', 'users', 'tokens', 'audit'] },
  { name: 'Models', tags: ['endpoints', 'nodes', 'publications', 'bindings', 'config'] },
  { name: 'Customers', tags: ['tenants', 'keys', 'wallet'] },
  { name: 'Operations', tags: ['usage', 'call-logs', 'status', 'why', 'maintenance'] },
]
