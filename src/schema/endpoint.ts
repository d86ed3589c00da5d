import { z } from 'zod'
import { isMetadataAddress } from '../base/ip-address.ts'
import { parseProxy } from '../base/proxies.ts'
import { isSecretHeader } from '../base/secret-shapes.ts'
import { addressOf, nodeSelector } from './node.ts'
import { CALL_PATHS, protocolOfPath } from './paths.ts'
import { PROTOCOLS, type Protocol } from './protocol.ts'
import { duration, secretReference, text } from './scalars.ts'
import { storedCredential } from './stored-credential.ts'

const MAX_URL_LENGTH = 2_048

/** Headers that only the gateway sets: an endpoint must not set them, least of all a credential. */
const RESERVED_HEADERS = new Set([
  'authorization',
  'x-api-key',
  'cookie',
  'host',
  'content-length',
  'content-encoding',
  'content-type',
  'accept-encoding',
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])
/** Whether only the gateway sets this header. */
export function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.has(name.toLowerCase())
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const headerName = z
  .string()
  .regex(HEADER_NAME, 'a header name')
  .refine(key => !isReservedHeader(key), 'a header that the gateway sets itself')
const headerText = z.string().regex(HEADER_VALUE, 'a header value on one line')

const ABOUT_HEADERS = 'Extra headers for this upstream.'

/** For REST: a secret belongs in `upstream_key`, and a reference would read files of this machine. */
export const plainHeaders = z
  .record(headerName, headerText)
  .superRefine(rejectSecrets)
  .describe(
    `${ABOUT_HEADERS} A value that looks like a secret is rejected: set it as \`upstream_key\`, or as a reference in a configuration file.`,
  )

const headers = z
  .record(headerName, z.union([headerText, secretReference]))
  .superRefine(rejectSecrets)
  .describe(`${ABOUT_HEADERS} Write a secret as a reference: \`api-key: { env: NAME }\`.`)

/** Headers in the store, accepted even if they look like a secret by now. */
const storedHeaders = z.record(headerName, z.union([headerText, secretReference]))

function rejectSecrets(
  value: Readonly<Record<string, unknown>>,
  ctx: z.RefinementCtx<Readonly<Record<string, unknown>>>,
): void {
  for (const header of secretHeaders(value)) {
    ctx.addIssue({
      code: 'custom',
      path: [header],
      message: 'a secret in plain text (it is not shown here)',
      params: { fault: 'literal_secret' },
    })
  }
}

/** The headers with a literal value that looks like a secret. */
export function secretHeaders(value: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(value).flatMap(([header, text]) =>
    typeof text === 'string' && isSecretHeader(header, text) ? [header] : [],
  )
}

const proxyText = z.string().max(2_048).superRefine(checkProxy)

/** For REST: a reference would read files and variables of this machine. */
export const plainProxy = proxyText
  .optional()
  .describe('The proxy for this upstream, such as `http://proxy:3128`, or `none`; default: the environment.')

const proxy = z
  .union([proxyText, secretReference])
  .optional()
  .describe(
    'The proxy for this upstream: `http://proxy:3128`, a reference to such an address with user and password, or `none`. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment of `gw serve`.',
  )

function checkProxy(value: string, ctx: z.RefinementCtx<string>): void {
  if (value === 'none') return
  const parsed = parseProxy(value)
  if (parsed && parsed.authorization === undefined) return
  ctx.addIssue(
    parsed
      ? {
          code: 'custom',
          message: 'a password in plain text (it is not shown here)',
          params: { fault: 'literal_secret' },
          input: value,
        }
      : {
          code: 'custom',
          message: 'a proxy such as http://proxy:3128, without a path, or `none`',
          input: value,
        },
  )
}

const tls = z
  .strictObject({
    ca: secretReference
      .optional()
      .describe('PEM of the authorities that sign its certificate, instead of those of the system.'),
    cert: secretReference.optional().describe('PEM of a client certificate, with its chain.'),
    key: secretReference.optional().describe('PEM of its private key, not encrypted.'),
  })
  .superRefine(checkTls)
  .optional()
  .describe(
    'Certificates for a TLS connection to this upstream: a private authority, or a client certificate that it demands. Each is a reference to PEM text; a file is read again after a change.',
  )

function checkTls(value: { ca?: unknown; cert?: unknown; key?: unknown }, ctx: z.RefinementCtx): void {
  const lacks = (field: string, message: string) =>
    ctx.addIssue({ code: 'custom', path: [field], message, params: { fault: 'missing_field' } })
  if (value.cert !== undefined && value.key === undefined) lacks('key', '`cert` needs its `key`')
  if (value.key !== undefined && value.cert === undefined) lacks('cert', '`key` needs its `cert`')
  if (Object.keys(value).length === 0) lacks('ca', '`tls` has `ca`, or `cert` and `key`')
}

/** A day: longer than any answer. */
const LONGEST_MS = 86_400_000

const timeouts = z
  .strictObject({
    connect: duration({ maxMs: 300_000 })
      .prefault('5s')
      .describe('Until the connection is established, including TLS.'),
    first_byte: duration({ maxMs: LONGEST_MS }).prefault('5m').describe('Until the response head.'),
    idle: duration({ maxMs: LONGEST_MS })
      .prefault('2m')
      .describe('Between two chunks of the answer; a stalled stream is aborted.'),
    total: duration({ maxMs: LONGEST_MS }).prefault('30m').describe('For the whole exchange.'),
  })
  .prefault({})
  .describe('How long to wait for the upstream.')

const paths = z
  .array(z.enum(CALL_PATHS))
  .min(1, 'at least one path')
  .optional()
  .describe(
    'The paths of the gateway that the upstream serves; `gw probe --paths` finds them. Default: all of its protocol.',
  )

/** An endpoint has an address, or it is on nodes. */
function hasAddress({ base_url, nodes }: { base_url?: unknown; nodes?: unknown }): boolean {
  return base_url !== undefined || nodes !== undefined
}

/** Found also if other fields are missing. */
const WITHOUT_ADDRESS = {
  path: ['base_url'],
  message: '`base_url` is missing',
  params: { fault: 'missing_field' },
  when: ({ value }: { value: unknown }) =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
}

/** An upstream as a file declares it: one model server, or one account at a vendor. */
export const endpoint = z
  .strictObject({
    protocol: z.enum(PROTOCOLS).describe('The API that the upstream speaks. Nothing is ever translated.'),
    display_name: text.optional().describe('A display name.'),
    base_url: z
      .string()
      .max(MAX_URL_LENGTH, `at most ${MAX_URL_LENGTH} characters`)
      .meta({ format: 'uri', pattern: '^[Hh][Tt]{2}[Pp][Ss]?://[^\\s/?#@\\\\]+(/[^\\s?#]*)?$' })
      .superRefine(checkBaseUrl)
      .overwrite(trimSlashes)
      .optional()
      .describe(
        'With the version path, such as `https://api.openai.com/v1`; the gateway appends `/chat/completions` and the like. Required, unless `nodes` takes its place.',
      ),
    nodes: nodeSelector
      .optional()
      .describe('Instead of `base_url`: the nodes whose engines serve it, each at `/v1`.'),
    served_model: z.string().min(1).max(512).describe('The model name that the upstream accepts.'),
    paths,
    upstream_key: secretReference.optional().describe('The credential for the upstream, as a reference.'),
    auth: z
      .enum(['bearer', 'x-api-key'])
      .optional()
      .describe('How the credential is sent. Default: `bearer` for openai, `x-api-key` for anthropic.'),
    enabled: z.boolean().default(true).describe('Whether it may serve traffic.'),
    skip_probe: z.boolean().default(false).describe('Never probe it; judge its health by traffic alone.'),
    timeouts,
    max_concurrency: z.int().min(1).optional().describe('Requests at a time; more go to other endpoints.'),
    max_concurrency_per_node: z
      .int()
      .min(1)
      .optional()
      .describe('With `nodes`: requests at a time on each of them.'),
    headers: headers.default({}),
    proxy,
    tls,
    labels: z.record(z.string().min(1).max(64), text).default({}).describe('Free labels.'),
  })
  .refine(hasAddress, WITHOUT_ADDRESS)
  .superRefine(checkPaths)
  .superRefine(checkAddress)
  .superRefine(checkScheme)
  .overwrite(withAuth)
  .describe('An upstream: one model server, or one account at a vendor.')

/** The credential of a stored endpoint: a reference, or set over REST. */
const credential = z.union([secretReference, storedCredential])

/** An endpoint in the store. */
export const storedEndpoint = z
  .strictObject({
    ...endpoint.shape,
    upstream_key: credential.optional(),
    headers: storedHeaders.default({}),
  })
  .refine(hasAddress, WITHOUT_ADDRESS)
  .superRefine(checkPaths)
  .superRefine(checkAddress)
  .superRefine(checkScheme)
  .overwrite(withAuth)

export const DEFAULT_AUTH = { openai: 'bearer', anthropic: 'x-api-key' } as const

function withAuth<Value extends { protocol: Protocol; auth?: 'bearer' | 'x-api-key' | undefined }>(
  value: Value,
): Value {
  return { ...value, auth: value.auth ?? DEFAULT_AUTH[value.protocol] }
}

interface PathFields {
  readonly protocol: Protocol
  readonly paths?: readonly string[] | undefined
}

function checkPaths({ protocol, paths = [] }: PathFields, ctx: z.RefinementCtx<PathFields>): void {
  for (const [index, path] of paths.entries()) {
    const other = protocolOfPath(path)
    if (other === protocol) continue
    ctx.addIssue({
      code: 'custom',
      path: ['paths', index],
      message: `a path of protocol ${other}: this endpoint speaks ${protocol}`,
      params: { fault: 'fields_conflict' },
    })
  }
}

interface AddressFields {
  readonly base_url?: string | undefined
  readonly nodes?: unknown
  readonly proxy?: unknown
  readonly max_concurrency?: unknown
  readonly max_concurrency_per_node?: unknown
}

/** Fields that go with one of them. */
function checkAddress(value: AddressFields, ctx: z.RefinementCtx<AddressFields>): void {
  const add = (path: string, message: string, fault: 'fields_conflict') =>
    ctx.addIssue({ code: 'custom', path: [path], message, params: { fault } })
  if (value.nodes === undefined) {
    if (value.max_concurrency_per_node !== undefined)
      add('max_concurrency_per_node', '`max_concurrency_per_node` goes with `nodes`', 'fields_conflict')
    return
  }
  if (value.base_url !== undefined) add('nodes', 'either `base_url` or `nodes`, not both', 'fields_conflict')
  if (value.max_concurrency !== undefined)
    add('max_concurrency', 'with `nodes` it is `max_concurrency_per_node`', 'fields_conflict')
  if (value.proxy !== undefined) add('proxy', '`proxy` goes with `base_url`', 'fields_conflict')
}

interface TlsFields {
  readonly base_url?: string | undefined
  readonly tls?: unknown
}

function checkScheme({ base_url, tls }: TlsFields, ctx: z.RefinementCtx<TlsFields>): void {
  if (tls === undefined || /^https:/i.test(addressOf({ base_url }))) return
  ctx.addIssue({
    code: 'custom',
    path: ['tls'],
    message: '`tls` needs an https:// address in `base_url`',
    params: { fault: 'fields_conflict' },
  })
}

function trimSlashes(url: string): string {
  return url.replace(/\/+$/, '')
}

function checkBaseUrl(value: string, ctx: z.RefinementCtx<string>): void {
  const reject = (message: string) => ctx.addIssue({ code: 'custom', message, input: value })
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return reject('a URL such as https://api.openai.com/v1')
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return reject('http or https only')
  if (url.username || url.password) return reject('no user or password in the URL: use `upstream_key`')
  if (value.includes('?') || value.includes('#')) return reject('no query and no fragment')
  if (isMetadataAddress(url.hostname)) return reject('addresses where clouds serve metadata are rejected')
}
