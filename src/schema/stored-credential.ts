import { z } from 'zod'
import { addressOf } from './node.ts'
import type { SecretReference } from './scalars.ts'

/**
 * The marker in a configuration for a credential that was set over REST, with its id. The credential itself is stored
 * sealed, outside of revisions. Only the store creates the marker: in a file it is rejected.
 */
export const storedCredential = z.strictObject({ stored: z.string().regex(/^[0-9a-f]{24}$/) })

/** A stored credential, sealed with a key that is not in the store. */
export interface StoredCredential {
  /** New each time the credential is set. */
  readonly id: string
  /** The permitted use, see {@link storedFor}. */
  readonly boundTo: string
  readonly nonce: Uint8Array
  /** The ciphertext and its tag. */
  readonly sealed: Uint8Array
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number
}

/** The source of a secret: a reference, or a stored credential for one use. */
export type SecretSource = SecretReference | { readonly kept: string }

/** Where an endpoint is: its address, or in place of it the choice of nodes. In the canonical form. */
interface Place {
  readonly base_url?: string | undefined
  readonly nodes?: object | undefined
}

/** The part of an endpoint that determines its secrets and their destination. */
interface SecretFields extends Place {
  readonly upstream_key?: SecretReference | z.output<typeof storedCredential> | undefined
  readonly headers: Readonly<Record<string, string | SecretReference>>
  readonly proxy?: string | SecretReference | undefined
  readonly tls?: Readonly<Partial<Record<TlsField, SecretReference | undefined>>> | undefined
}

type TlsField = 'ca' | 'cert' | 'key'
const TLS_FIELDS: readonly TlsField[] = ['ca', 'cert', 'key']

/** The source of an endpoint's credential; undefined if it has none. */
export function credentialOf(
  endpoint: string,
  { upstream_key, ...place }: Place & Pick<SecretFields, 'upstream_key'>,
): SecretSource | undefined {
  if (upstream_key === undefined || !('stored' in upstream_key)) return upstream_key
  return { kept: storedFor(endpoint, place) }
}

/** Every secret of an endpoint with its field: its credential, and references in headers, proxy and TLS. */
export function secretsOf(
  endpoint: string,
  endpointFields: SecretFields,
): readonly { readonly field: string; readonly source: SecretSource }[] {
  const credential = credentialOf(endpoint, endpointFields)
  const inHeaders = Object.entries(endpointFields.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [{ field: `headers.${name}`, source: value }],
  )
  const { proxy, tls = {} } = endpointFields
  return [
    ...(credential ? [{ field: 'upstream_key', source: credential }] : []),
    ...inHeaders,
    ...(typeof proxy === 'object' ? [{ field: 'proxy', source: proxy }] : []),
    ...TLS_FIELDS.flatMap(name => {
      const source = tls[name]
      return source ? [{ field: `tls.${name}`, source }] : []
    }),
  ]
}

/**
 * The destination of an endpoint's secrets: its choice of nodes; or its origin, the authority that vouches for it, and the proxy if that could
 * read them, because the connection is not encrypted or the authority is not one of the system.
 *
 * @param field of the secret: one of `tls` stays here, and must not be sent as a credential.
 */
export function destinationOf(
  { proxy, tls, ...place }: Place & Pick<SecretFields, 'proxy' | 'tls'>,
  field = '',
): string {
  const origin = originOf(place)
  if (place.nodes) return origin
  if (field.startsWith('tls.')) return `${field} for ${origin}`
  const trust = tls?.ca ? ` trusting ${JSON.stringify(tls.ca)}` : ''
  const isReadable = !origin.startsWith('https:') || trust !== ''
  return origin + trust + (proxy !== undefined && isReadable ? ` by ${JSON.stringify(proxy)}` : '')
}

/**
 * The one permitted use of a stored credential: this endpoint with this origin. An endpoint that is redirected to
 * another origin or to other nodes, in any way, has no credential there.
 */
export function storedFor(endpoint: string, place: Place): string {
  return `endpoint/${endpoint} upstream_key ${originOf(place)}`
}

function originOf({ base_url, nodes }: Place): string {
  return nodes ? `nodes ${JSON.stringify(nodes)}` : new URL(addressOf({ base_url })).origin
}

/** The associated data of a seal: the row of the credential. */
export function rowOf({ id, boundTo }: Pick<StoredCredential, 'id' | 'boundTo'>): string {
  return `gw secret ${id} ${boundTo}`
}
