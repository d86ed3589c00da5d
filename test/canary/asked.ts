import { SLOTS } from './planted.ts'

/** Commands that must not tell. A new command is a line here; each is run as text and as JSON. */
export const COMMANDS: readonly (readonly string[])[] = [
  ['validate'],
  ['diff'],
  ['export'],
  ['probe'],
  ['probe', '-c', 'gw.yaml'],
  ['keys', 'list'],
  ['keys', 'show', 'minted'],
  ['keys', 'show', 'by-file'],
  ['logs'],
  ['usage', '--by', 'key'],
  ['ledger', 'verify'],
  ['maintenance', 'status'],
]

export interface Asked {
  readonly status: number
  readonly path: string
  readonly secret: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export const CHAT = '/v1/chat/completions'
const OURS = SLOTS['secret of a key, by file']
const OTHER_HEADERS = {
  'x-password': SLOTS['a password in another header'],
  cookie: SLOTS['a password in another header'],
}

/** What a client can ask of the gateway that must not tell. A new way to fail is a line here. */
export const CALLS: readonly Asked[] = [
  { status: 200, path: CHAT, secret: SLOTS['secret of a key, by variable'], body: { model: 'chat' } },
  {
    status: 200,
    path: CHAT,
    secret: SLOTS['secret of a key, by its hash'],
    body: { model: 'chat', stream: true },
  },
  { status: 200, path: '/v1/messages', secret: OURS, body: { model: 'claude', max_tokens: 5 } },
  { status: 502, path: CHAT, secret: OURS, body: { model: 'refused' } },
  { status: 404, path: CHAT, secret: OURS, body: { model: SLOTS['a made-up name of a model'] } },
  { status: 401, path: CHAT, secret: SLOTS['a stranger’s key'], body: { model: 'chat' } },
  { status: 401, path: CHAT, secret: SLOTS['a mistyped key of ours'], body: { model: 'chat' } },
  { status: 401, path: CHAT, secret: SLOTS.METRICS_TOKEN, body: { model: 'chat' } },
  { status: 400, path: CHAT, secret: OURS, body: { model: 'chat', max_tokens: SLOTS['a prompt'] } },
  {
    status: 200,
    path: `${CHAT}?api_key=${SLOTS['a key in a query string']}`,
    secret: OURS,
    body: { model: 'chat' },
    headers: OTHER_HEADERS,
  },
  { status: 404, path: `/nowhere?api_key=${SLOTS['a key in a query string']}`, secret: OURS },
  { status: 200, path: '/v1/models', secret: OURS },
  { status: 401, path: '/metrics', secret: OURS },
]
