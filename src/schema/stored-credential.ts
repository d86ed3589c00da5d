import { z } from 'zod'
import type { SecretReference } from './scalars.ts'

/**
 * What the configuration says of a credential that was given over REST: that there is one, and which giving it was.
 * The credential itself lies sealed beside the revisions. Only the store makes this: a file that says it is rejected.
 */
export const storedCredential = z.strictObject({ stored: z.string().regex(/^[0-9a-f]{24}$/) })

/** A credential as it lies in the store, sealed with a key that does not. */
export interface StoredCredential {
  /** Another one with each giving. */
  readonly id: string
  /** What it may be used for, as {@link storedFor} tells it. */
  readonly boundTo: string
  readonly nonce: Uint8Array
  /** The ciphertext and its tag. */
  readonly sealed: Uint8Array
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number
}

/** Where a secret is found when it is needed: where a reference leads, or among what is kept for one use. */
export type SecretSource = SecretReference | { readonly kept: string }

/** The part of an endpoint that says what its credential is and where it goes. */
interface Sending {
  readonly base_url: string
  readonly upstream_key?: SecretReference | z.output<typeof storedCredential> | undefined
  readonly headers: Readonly<Record<string, string | SecretReference>>
  readonly proxy?: string | SecretReference | undefined
}

/** Where the credential of an endpoint is found; undefined where it has none. */
export function credentialOf(
  endpoint: string,
  { base_url, upstream_key }: Pick<Sending, 'base_url' | 'upstream_key'>,
): SecretSource | undefined {
  if (upstream_key === undefined || !('stored' in upstream_key)) return upstream_key
  return { kept: storedFor(endpoint, base_url) }
}

/** Every secret that an endpoint sends, by the field that says so: its credential, headers and a proxy that are references. */
export function secretsOf(
  endpoint: string,
  sending: Sending,
): readonly { readonly field: string; readonly source: SecretSource }[] {
  const credential = credentialOf(endpoint, sending)
  const inHeaders = Object.entries(sending.headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [{ field: `headers.${name}`, source: value }],
  )
  const { proxy } = sending
  return [
    ...(credential ? [{ field: 'upstream_key', source: credential }] : []),
    ...inHeaders,
    ...(typeof proxy === 'object' ? [{ field: 'proxy', source: proxy }] : []),
  ]
}

/** Who sees what an endpoint sends: its origin, and a proxy where nothing is encrypted on the way to it. */
export function destinationOf({ base_url, proxy }: Pick<Sending, 'base_url' | 'proxy'>): string {
  const { origin } = new URL(base_url)
  return proxy === undefined || origin.startsWith('https:') ? origin : `${origin} by ${JSON.stringify(proxy)}`
}

/**
 * The one use of a kept credential: this endpoint, and the origin that it is sent to. Whoever points the endpoint
 * elsewhere, by whatever way, has no credential for there.
 */
export function storedFor(endpoint: string, baseUrl: string): string {
  return `endpoint/${endpoint} upstream_key ${new URL(baseUrl).origin}`
}

/** What is sealed in with a credential: the row that it lies in. */
export function rowOf({ id, boundTo }: Pick<StoredCredential, 'id' | 'boundTo'>): string {
  return `gw secret ${id} ${boundTo}`
}
