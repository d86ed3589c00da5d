import { type EnvironmentProxies, parseProxy } from '../base/proxies.ts'
import { type TlsMaterial, tlsMaterial, tlsProblems } from '../base/tls-material.ts'
import { DEFAULT_AUTH } from '../schema/endpoint.ts'
import type { Kind, Spec } from '../schema/kinds.ts'
import { concurrencyOf, isShadow, type Moded, rateOf } from '../schema/limits.ts'
import { addressOf } from '../schema/node.ts'
import { effectivePrice, type PriceFrom, pricesOf, priceText } from '../schema/price.ts'
import type { Protocol } from '../schema/protocol.ts'
import { credentialOf, type SecretSource } from '../schema/stored-credential.ts'
import { modelFilter } from './model-filter.ts'
import { restrictedPaths } from './served-paths.ts'
import type {
  DatedPrice,
  EndpointEntry,
  NodeChoice,
  NodeEntry,
  PublicationEntry,
  RateLimits,
  ShadowLimits,
  Target,
  TenantEntry,
} from './types.ts'

/** The context for compiling entries: collected problems, and resolved secrets. */
export interface EntryPorts {
  readonly problems: string[]
  /** Returns the secret of a source; if it has none, adds a problem and returns an empty string. */
  resolve(owner: string, source: SecretSource): string
  /** Absent if the snapshot makes no connections: proxies and certificates are ignored then. */
  readonly environmentProxies?: EnvironmentProxies | undefined
}

/** A decoded resource. */
export interface Item<K extends Kind> {
  readonly name: string
  readonly spec: Spec<K>
  readonly createdAtMs: number
  readonly account: string
}

/** Credentials that are valid in a header line (RFC 9110 §5.5). */
const HEADER_SAFE = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/

export function endpointEntry({ name, account, spec }: Item<'endpoint'>, ports: EntryPorts): EndpointEntry {
  const url = new URL(addressOf(spec))
  const secrets: string[] = []
  const resolve = (field: string, source: SecretSource): string => {
    const owner = `endpoint ${name}: ${field}`
    const secret = ports.resolve(owner, source)
    if (secret && !HEADER_SAFE.test(secret)) ports.problems.push(`${owner} does not fit into a header line`)
    secrets.push(secret)
    return secret
  }
  const headers = Object.entries(spec.headers).flatMap(([header, value]) => [
    header,
    typeof value === 'string' ? value : resolve(`headers.${header}`, value),
  ])
  const proxyOf = (): string | undefined => {
    const { proxy } = spec
    if (proxy === 'none') return undefined
    const fromEnvironment = proxy === undefined
    const text = fromEnvironment
      ? spec.nodes
        ? undefined
        : ports.environmentProxies?.(url.origin)
      : typeof proxy === 'string'
        ? proxy
        : resolve('proxy', proxy)
    if (!text) return undefined
    const parsed = parseProxy(text)
    if (parsed?.authorization !== undefined) secrets.push(text, new URL(text).password)
    if (parsed) return text
    const where = fromEnvironment ? 'the proxy in the environment' : 'proxy'
    ports.problems.push(`endpoint ${name}: ${where} is no address such as http://proxy:3128`)
    return undefined
  }
  const proxy = ports.environmentProxies && proxyOf()
  const tls = ports.environmentProxies && tlsOf(name, spec.tls, ports)
  const credential = credentialOf(name, spec)
  if (credential) {
    const secret = resolve('upstream_key', credential)
    const auth = spec.auth ?? DEFAULT_AUTH[spec.protocol]
    if (auth === 'bearer') headers.push('authorization', `Bearer ${secret}`)
    else headers.push('x-api-key', secret)
  }
  return Object.freeze({
    name,
    account,
    protocol: spec.protocol,
    origin: url.origin,
    nodes: nodeChoice(spec),
    node: undefined,
    basePath: url.pathname.replace(/\/+$/, ''),
    servedModel: spec.served_model,
    paths: spec.paths && Object.freeze(spec.paths),
    enabled: spec.enabled,
    // The node probes its engines itself.
    skipProbe: spec.skip_probe || spec.nodes !== undefined,
    maxConcurrency: spec.max_concurrency ?? Number.POSITIVE_INFINITY,
    headers: Object.freeze(headers),
    secrets: Object.freeze(secrets),
    proxy,
    tls,
    connectMs: spec.timeouts.connect,
    firstByteMs: spec.timeouts.first_byte,
    idleMs: spec.timeouts.idle,
    totalMs: spec.timeouts.total,
  })
}

export function nodeChoice({
  nodes,
  max_concurrency_per_node: maxConcurrency = Number.POSITIVE_INFINITY,
}: Pick<Spec<'endpoint'>, 'nodes' | 'max_concurrency_per_node'>): NodeChoice | undefined {
  if (!nodes) return undefined
  const { labels = {}, names, engine } = nodes
  return Object.freeze({
    labels: Object.freeze(Object.entries(labels)),
    names: names && new Set(names),
    engine,
    maxConcurrency,
  })
}

export function nodeEntry({
  name,
  spec,
}: {
  readonly name: string
  readonly spec: Pick<Spec<'node'>, 'labels' | 'engines'>
}): NodeEntry {
  return Object.freeze({
    name,
    labels: new Map(Object.entries(spec.labels)),
    engines: spec.engines && new Set(spec.engines),
  })
}

function tlsOf(name: string, fields: Spec<'endpoint'>['tls'], ports: EntryPorts): TlsMaterial | undefined {
  if (!fields) return undefined
  const owner = `endpoint ${name}`
  const read = (field: keyof typeof fields) => {
    const source = fields[field]
    return source && ports.resolve(`${owner}: tls.${field}`, source)
  }
  const pem = { ca: read('ca'), cert: read('cert'), key: read('key') }
  // A missing one is a problem already.
  if (Object.values(pem).includes('')) return undefined
  ports.problems.push(...tlsProblems(pem).map(problem => `${owner}: ${problem}`))
  return tlsMaterial(pem)
}

export function tenantEntry({ name, account, spec }: Item<'tenant'>): TenantEntry {
  return Object.freeze({
    name,
    account,
    status: spec.status,
    mayUse: modelFilter(spec.models),
    isBanned: modelFilter(spec.banned_models),
    limits: rateLimits(spec.limits),
    shadow: shadowLimits(spec.limits),
    billing: spec.billing,
  })
}

/** Sets every member, so that all entries have the same hidden class: they are read on each request. */
export function rateLimits({ rpm, tpm, concurrency }: Spec<'key'>['limits']): RateLimits {
  return Object.freeze({
    rpm: rpm === undefined ? undefined : Object.freeze(rateOf(rpm)),
    tpm: tpm === undefined ? undefined : Object.freeze(rateOf(tpm)),
    concurrency: concurrency === undefined ? undefined : concurrencyOf(concurrency),
  })
}

/** @param limits As in a file, by the name of the limit. */
export function shadowLimits(limits: Readonly<Record<string, number | Moded | undefined>>): ShadowLimits {
  const names = Object.keys(limits).filter(name => isShadow(limits[name]))
  return names.length > 0 ? new Set(names) : undefined
}

/** @param settings Defaults for the publication. */
export function publicationEntry(
  item: Item<'publication'>,
  bound: readonly Target[],
  settings: Spec<'settings'>,
): PublicationEntry {
  const { name, account, spec } = item
  const sorted = bound.toSorted((a, b) => a.priority - b.priority)
  const speaking = (protocol: Protocol) =>
    Object.freeze(sorted.filter(({ endpoint }) => endpoint.protocol === protocol))
  const targets = Object.freeze({ openai: speaking('openai'), anthropic: speaking('anthropic') })
  return Object.freeze({
    name,
    account,
    nameJson: Buffer.from(JSON.stringify(name)),
    status: spec.status,
    listing: listing(item),
    targets,
    restricted: restrictedPaths(targets),
    prices: Object.freeze(pricesOf(spec.price).map(dated)),
    requirePrice: settings.require_price,
    maxInputTokens: spec.max_input_tokens,
    maxOutputTokens: spec.max_output_tokens,
    outputCap: spec.output_cap ?? settings.output_cap,
    onDisconnect: spec.on_disconnect ?? settings.on_disconnect,
    onUpstreamError: spec.on_upstream_error ?? settings.on_upstream_error,
  })
}

function dated({ fromMs, terms }: PriceFrom): DatedPrice {
  const price = effectivePrice(terms)
  return Object.freeze({ fromMs, price, text: priceText(price) })
}

/** One entry serves both SDKs (spec/wire.md §2): OpenAI's fields, then Anthropic's. */
function listing({ name, spec, createdAtMs }: Item<'publication'>): string {
  return JSON.stringify({
    id: name,
    object: 'model',
    created: Math.floor(createdAtMs / 1000),
    owned_by: spec.owned_by,
    type: 'model',
    display_name: spec.display_name ?? name,
    created_at: new Date(createdAtMs).toISOString(),
  })
}
