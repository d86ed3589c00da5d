import { listedPrice, PRICE_PAGES, PRICES_AS_OF } from '../../config/vendors/prices.ts'
import { VENDORS, type Vendor } from '../../config/vendors/table.ts'
import {
  bindingName,
  encode,
  type Json,
  KINDS,
  type Kind,
  type Resource,
  type Spec,
} from '../../schema/kinds.ts'
import type { Protocol } from '../../schema/protocol.ts'
import type { Account, Deployment, Silence } from './deployment.ts'
import type { Part } from './parts.ts'
import { providerFor, sameAccountIn } from './providers.ts'

interface Endpoint {
  readonly name: string
  readonly account: Account
  /** Of its first deployment; the others override it in their bindings. */
  readonly servedModel: string
}

interface Binding {
  readonly endpoint: Endpoint
  readonly servedModel: string
  weight: number
  readonly priority: number
}

type Amounts = Readonly<Record<string, string>>

interface Publication {
  readonly name: string
  readonly first: Deployment
  readonly price: Amounts
  readonly bindings: Binding[]
}

/**
 * Converts deployments to endpoints, publications and bindings. Deployments with the same address, credential and
 * limits share one endpoint. A model with two deployments on one account gets a second endpoint of that account,
 * because a publication has only one binding per endpoint.
 */
export class Assembly {
  readonly #endpoints: Endpoint[] = []
  readonly #publications = new Map<string, Publication>()
  readonly #usesPriceList: boolean
  /** Of an account, by the vendor's other address: a second fallback to it has the same endpoint. */
  readonly #otherAddresses = new WeakMap<Account, Map<string, Account>>()

  /** @param usesPriceList models without a price in the file get the listed price, if there is one. */
  constructor(usesPriceList: boolean) {
    this.#usesPriceList = usesPriceList
  }

  add(deployment: Deployment): void {
    const { publication: name, price, window } = deployment
    const known = this.#publications.get(name)
    const publication = known ?? { name, first: deployment, price: this.#priceOf(deployment), bindings: [] }
    this.#publications.set(name, publication)
    const { first } = publication
    if (known && JSON.stringify(this.#knownPrice(deployment)) !== JSON.stringify(known.price)) {
      if (price.parts.length === 0)
        deployment.named.note(
          `\`${deployment.servedModel}\` is billed at the price of the first entry of \`${name}\``,
        )
      for (const part of price.parts) part.leave(`\`${name}\` has one price in gw, that of its first entry`)
    }
    if (window.maxInput !== first.window.maxInput || window.maxOutput !== first.window.maxOutput) {
      for (const part of window.parts) part.leave(`\`${name}\` has one window in gw, that of its first entry`)
    }
    this.#bind(publication, deployment.account, deployment)
  }

  /** Adds the endpoints of `others` as the next tiers of a publication, used if no earlier endpoint is usable. */
  fallBack(name: string, others: readonly Part[], aliases: ReadonlyMap<string, string | undefined>): void {
    const publication = this.#publications.get(name)
    if (publication === undefined) return
    const protocols = new Set(publication.bindings.map(({ endpoint }) => endpoint.account.protocol))
    let priority = Math.max(...publication.bindings.map(binding => binding.priority))
    for (const part of others) {
      const other =
        this.#publications.get(part.text ?? '') ?? this.#publications.get(aliases.get(part.text ?? '') ?? '')
      if (other === undefined) {
        part.leave('no model of that name was imported')
        continue
      }
      const own = standIns(other, protocols, (account, vendor) => this.#atOtherAddress(account, vendor))
      if (own.length === 0) {
        part.leave('of another protocol, in which its vendor has no address: gw translates nothing')
        continue
      }
      priority++
      part.keep()
      if (JSON.stringify(other.price) !== JSON.stringify(publication.price))
        part.note(
          `calls of \`${name}\` that it answers are billed at the price of \`${name}\`, not at its own`,
        )
      for (const { account, servedModel, weight, title } of own) {
        if (title !== undefined)
          part.note(`it has another protocol: a second endpoint, ${title}, uses the same key`)
        this.#bind(publication, account, { servedModel, weight, priority })
      }
    }
  }

  #atOtherAddress(account: Account, { id, protocol, baseUrl, auth }: Vendor): Account {
    const known = this.#otherAddresses.get(account) ?? new Map<string, Account>()
    this.#otherAddresses.set(account, known)
    const other = known.get(id) ?? { ...account, providerName: id, protocol, baseUrl, ...(auth && { auth }) }
    known.set(id, other)
    return other
  }

  /** Adds another name for a publication. False if the name is taken, or the publication does not exist. */
  alias(name: string, target: string): boolean {
    const known = this.#publications.get(target)
    if (known === undefined || this.#publications.has(name)) return false
    this.#publications.set(name, { ...known, name, bindings: [...known.bindings] })
    return true
  }

  has(name: string): boolean {
    return this.#publications.has(name)
  }

  /** Protocols by publication. */
  protocols(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map(
      [...this.#publications].map(([name, { bindings }]) => [
        name,
        new Set(bindings.map(({ endpoint }) => endpoint.account.protocol)),
      ]),
    )
  }

  resources(): readonly Resource[] {
    const endpoints = this.#endpoints.map(endpoint =>
      resource('endpoint', endpoint.name, endpointSpec(endpoint)),
    )
    const rest = [...this.#publications.values()].flatMap(publication => [
      resource('publication', publication.name, publicationSpec(publication)),
      ...inTiers(publication.bindings)
        .flatMap(wholeWeights)
        .map(binding =>
          resource(
            'binding',
            bindingName(publication.name, binding.endpoint.name),
            bindingSpec(publication.name, binding),
          ),
        ),
    ])
    return [...endpoints, ...rest]
  }

  /** The price of the file, else the listed one if it is asked for, else none. */
  #knownPrice(deployment: Deployment): Amounts {
    const { amounts } = deployment.price
    if (Object.keys(amounts).length > 0) return amounts
    return (this.#usesPriceList && listedFor(deployment)?.price) || {}
  }

  /** The known price; free calls always cause a note, and so does a listed price. */
  #priceOf(deployment: Deployment): Amounts {
    const { price, named } = deployment
    if (Object.keys(price.amounts).length > 0) return price.amounts
    const listed = listedFor(deployment)
    if (listed === undefined || !this.#usesPriceList) {
      const hint = listed === undefined ? '' : `; --prices takes that of ${PRICES_AS_OF}`
      named.note(`\`${named.text}\` has no price: its calls are free, and counted as unpriced${hint}`)
      return {}
    }
    const note = listed.note === undefined ? '' : `; ${listed.note}`
    named.note(`\`${named.text}\` has the price of ${PRICES_AS_OF} (${PRICE_PAGES[listed.account]})${note}`)
    return listed.price
  }

  #bind(
    publication: Publication,
    account: Account,
    { servedModel, weight, priority }: Pick<Deployment, 'servedModel' | 'weight' | 'priority'>,
  ): void {
    // LiteLLM limits the calls of each deployment by itself.
    const isOwn = account.maxConcurrency !== undefined
    const alike = this.#endpoints.filter(endpoint =>
      isOwn ? endpoint.account === account : same(endpoint.account, account),
    )
    const taken = new Map(publication.bindings.map(binding => [binding.endpoint, binding]))
    for (const endpoint of alike) {
      const binding = taken.get(endpoint)
      if (binding?.servedModel !== servedModel) continue
      // A repeated binding adds its weight; in a later tier it would never be used.
      if (binding.priority === priority) binding.weight += weight
      return
    }
    const free = alike.find(endpoint => !taken.has(endpoint)) ?? this.#newEndpoint(account, servedModel)
    publication.bindings.push({ endpoint: free, servedModel, weight, priority })
  }

  #newEndpoint(account: Account, servedModel: string): Endpoint {
    const base = nameOf(account)
    const names = new Set(this.#endpoints.map(({ name }) => name))
    let name = base
    for (let count = 2; names.has(name); count++) name = `${base}-${count}`
    const endpoint = { name, account, servedModel }
    this.#endpoints.push(endpoint)
    return endpoint
  }
}

interface StandIn {
  readonly account: Account
  readonly servedModel: string
  readonly weight: number
  /** The model name, if its address differs from that of the model itself. */
  readonly title?: string
}

/** The usable bindings of the first tier for a publication of `protocols`: unchanged, or at another address. */
function standIns(
  { bindings }: Publication,
  protocols: ReadonlySet<Protocol>,
  atOtherAddress: (account: Account, vendor: Vendor) => Account,
): readonly StandIn[] {
  const least = Math.min(...bindings.map(({ priority }) => priority))
  const first = bindings.filter(binding => binding.priority === least)
  const own = first.filter(({ endpoint }) => protocols.has(endpoint.account.protocol))
  if (own.length > 0) return own.map(binding => ({ ...binding, account: binding.endpoint.account }))
  return first.flatMap(({ endpoint: { account }, servedModel, weight }) => {
    const provider = providerFor(account.providerName, undefined)
    // The credential must go only to its vendor, so a custom address has no second one.
    if (provider === undefined || provider.baseUrl !== account.baseUrl) return []
    const vendors = [...protocols].flatMap(protocol => sameAccountIn(provider, protocol) ?? [])
    return vendors.map(vendor => ({
      account: atOtherAddress(account, vendor),
      servedModel,
      weight,
      title: vendor.title,
    }))
  })
}

function listedFor({ account, servedModel }: Deployment): ReturnType<typeof listedPrice> {
  const vendor = providerFor(account.providerName, undefined)?.vendor
  return vendor && listedPrice(vendor.account, servedModel)
}

function same(a: Account, b: Account): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The provider, and the host of a self-hosted server. */
function nameOf({ providerName, baseUrl }: Account): string {
  const provider =
    providerName
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'upstream'
  const known = providerFor(providerName, undefined) ?? VENDORS.get(providerName)
  if (known?.baseUrl === baseUrl) return provider
  const { hostname } = new URL(baseUrl)
  const host = /^[\d.[\]:]+$/.test(hostname)
    ? hostname.replaceAll(/[^0-9a-f]+/g, '-')
    : (hostname.split('.', 1)[0] ?? '')
  return `${provider}-${host}`.replaceAll(/-+/g, '-').replace(/-$/, '').slice(0, 64)
}

function endpointSpec({ account, servedModel }: Endpoint): Json {
  const { protocol, baseUrl, keyVariable, headers, silence, maxConcurrency, auth } = account
  return {
    protocol,
    base_url: baseUrl,
    served_model: servedModel,
    ...(keyVariable !== undefined && { upstream_key: { env: keyVariable } }),
    ...(Object.keys(headers).length > 0 && { headers: { ...headers } }),
    ...(auth !== undefined && { auth }),
    ...(silence !== undefined && { timeouts: timeoutsOf(silence) }),
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
  }
}

/** Half an hour, the default limit of an exchange: a longer idle timeout needs a longer limit. */
const TOTAL_MS = 1_800_000

function timeoutsOf({ text, ms }: Silence): Json {
  return { first_byte: text, idle: text, ...(ms > TOTAL_MS && { total: '24h' }) }
}

function publicationSpec({ first: { window }, price }: Publication): Json {
  return {
    ...(Object.keys(price).length > 0 && { price: { ...price } }),
    ...(window.maxInput !== undefined && { max_input_tokens: window.maxInput }),
    ...(window.maxOutput !== undefined && { max_output_tokens: window.maxOutput }),
  }
}

function bindingSpec(publication: string, { endpoint, servedModel, weight, priority }: Binding): Json {
  return {
    publication,
    endpoint: endpoint.name,
    weight,
    priority: Math.min(priority, 1_000),
    ...(servedModel !== endpoint.servedModel && { served_model: servedModel }),
  }
}

const MAX_WEIGHT = 1_000_000

/** The bindings by their priority: only within one their weights are compared. */
function inTiers(bindings: readonly Binding[]): readonly (readonly Binding[])[] {
  const tiers = new Map<number, Binding[]>()
  for (const binding of bindings) {
    const tier = tiers.get(binding.priority)
    if (tier) tier.push(binding)
    else tiers.set(binding.priority, [binding])
  }
  return [...tiers.values()]
}

/** Bindings of one priority with weights in whole numbers of the same proportions, to a millionth of the largest. */
export function wholeWeights<Weighted extends { readonly weight: number }>(
  bindings: readonly Weighted[],
): readonly Weighted[] {
  const weights = bindings.map(({ weight }) => weight)
  const largest = Math.max(...weights)
  if (weights.every(Number.isInteger) && largest <= MAX_WEIGHT) return bindings
  const scale = [1, 10, 100, 1_000, 10_000].find(
    factor => largest * factor <= MAX_WEIGHT && weights.every(weight => isWhole(weight * factor)),
  )
  const whole = weights.map(weight => {
    const scaled = Math.round(scale === undefined ? (weight / largest) * MAX_WEIGHT : weight * scale)
    return weight > 0 ? Math.max(1, scaled) : 0
  })
  const divisor = whole.reduce(commonDivisor, 0)
  return bindings.map((binding, at) => ({ ...binding, weight: (whole[at] ?? 0) / divisor }))
}

/** But for the error of binary fractions: 0.7 × 10. */
function isWhole(number: number): boolean {
  return Math.abs(number - Math.round(number)) < 1e-9
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b)
}

/** Why the schema rejects the endpoint of a deployment; undefined if it does not. */
export function endpointProblem({ account, servedModel }: Deployment): string | undefined {
  const { error } = KINDS.endpoint.safeParse(endpointSpec({ name: '', account, servedModel }))
  const [issue] = error?.issues ?? []
  return issue && `${issue.path.join('.')}: ${issue.message}`
}

/** @throws if the schema rejects the result, which is a bug of the import. */
export function resource(kind: Kind, name: string, spec: Json): Resource {
  return { kind, name, spec: encode(kind, KINDS[kind].parse(spec) as Spec<Kind>) }
}
