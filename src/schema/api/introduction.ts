import type { Tag } from './types.ts'

/** What a reader of the document is told before the operations, in Markdown. */
export const INTRODUCTION = `# Logging in

\`POST /api/v1/session\` with a name and a password. \`gw users create\` makes the first administrator, or
\`GW_ADMIN_PASSWORD\` in the environment of \`gw serve\`.

- **Scripts** get a \`token\` and send it as \`authorization: Bearer …\`.
- **Browsers** ask for \`carrier: cookie\`: they get a cookie that no script can read, and a \`csrf_token\` to be sent as
  \`x-csrf-token\` with each change.

A session ends 30 minutes after its last use and 12 hours after the log-in at the latest. A user of the role \`admin\`
may do everything; one of the role \`tenant\` sees its own tenant, and everything else is a 404. An API key for inference
opens nothing here, and a session opens nothing on the gateway.

# Whose is what

What a configuration file declares is changed by \`gw apply\` alone: a write to it here is a 409 that names the file and
the line. What is made here is left alone by \`gw apply\`. In an incident a key can be disabled or revoked here at once,
whoever owns it.

# Changing things

Every change of the configuration is a new revision, and gateways serve it within a second. An answer that shows one
thing carries an \`etag\`; a \`PATCH\` sends it back as \`if-match\` and is rejected with 412 where the thing has changed
meanwhile. A \`PATCH\` is a JSON merge patch: what it does not name stays, \`null\` takes a field back to its default. Each
change leaves a line in the audit.

Names in paths are one segment, percent-encoded: the publication \`openai/gpt-4o\` is at
\`/api/v1/publications/openai%2Fgpt-4o\`. Lists come in pages: \`next_cursor\` of one is the \`cursor\` of the next. Times are
RFC 3339 in UTC, money is an exact decimal in quotes.

# Failures

A failure is a [problem document](https://www.rfc-editor.org/rfc/rfc9457): \`code\` says what happened, for programs; \`detail\` what
happened this time; \`hint\` what to do about it; \`errors\` names each field that is wrong. \`request_id\` finds the request
in the log.
`

/** What the tags are called in lists, and which of them belong together. */
export const TITLES: Readonly<Record<Tag, string>> = {
  session: 'Session',
  users: 'Users',
  tokens: 'Tokens',
  endpoints: 'Endpoints',
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

/** For readers that show groups (https://redocly.com/docs/realm/author/reference/openapi-extensions/x-tag-groups). */
export const GROUPS: readonly { readonly name: string; readonly tags: readonly Tag[] }[] = [
  { name: 'Who may', tags: ['session', 'users', 'tokens', 'audit'] },
  { name: 'What is served', tags: ['endpoints', 'publications', 'bindings', 'config'] },
  { name: 'For whom', tags: ['tenants', 'keys', 'wallet'] },
  { name: 'What happens', tags: ['usage', 'call-logs', 'status', 'why', 'maintenance'] },
]
