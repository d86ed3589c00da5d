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
  { status: 200, path: CHAT, secret: OURS, body: { model: 'over-rest' } },
  { status: 502, path: CHAT, secret: OURS, body: { model: 'rejected' } },
  { status: 404, path: CHAT, secret: OURS, body: { model: SLOTS['a made-up name of a model'] } },
  { status: 401, path: CHAT, secret: SLOTS['a foreign key'], body: { model: 'chat' } },
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

export interface Managed {
  readonly status: number
  readonly method: string
  /** Below `/api/v1`. */
  readonly path: string
  readonly body?: object
}

/** What an administrator can ask of the control plane that must not tell, in order. */
export function managing(upstreamUrl: string): readonly Managed[] {
  const endpoint = {
    name: 'over-rest',
    protocol: 'openai',
    base_url: `${upstreamUrl}/v1`,
    served_model: 'm',
    upstream_key: SLOTS['upstream_key, over REST'],
  }
  const rejecting = {
    ...endpoint,
    name: 'rejecting-over-rest',
    base_url: `${upstreamUrl}/rejecting/v1`,
    upstream_key: SLOTS['upstream_key, over REST, that its upstream rejects, and repeats'],
  }
  const post = (path: string, status: number, body?: object): Managed => ({
    status,
    method: 'POST',
    path,
    ...(body && { body }),
  })
  return [
    post('/endpoints', 201, endpoint),
    post('/endpoints', 409, endpoint),
    post('/endpoints', 422, rejecting),
    post('/endpoints', 422, { ...rejecting, upstream_key: `${rejecting.upstream_key} ` }),
    post('/endpoints', 201, { ...rejecting, skip_probe: true }),
    post('/endpoints/over-rest/probe', 200),
    { status: 428, method: 'PATCH', path: '/endpoints/over-rest', body: { base_url: 'http://127.0.0.1:9' } },
    post('/publications', 201, { name: 'over-rest' }),
    post('/bindings', 201, { publication: 'over-rest', endpoint: 'over-rest' }),
    post('/config/plan', 422, {
      yaml: `version: 1\nendpoints: { x: { upstream_key: ${SLOTS['a prompt']} } }`,
    }),
    { status: 200, method: 'GET', path: '/endpoints' },
    { status: 200, method: 'GET', path: '/endpoints/over-rest' },
    { status: 200, method: 'GET', path: '/audit' },
    { status: 200, method: 'GET', path: '/config/revisions' },
  ]
}
