import {
  bindingName,
  encode,
  type Json,
  KINDS,
  type Kind,
  type Resource,
  type Spec,
} from '../../schema/kinds.ts'
import type { Account, Deployment } from './deployment.ts'
import type { Part } from './parts.ts'
import { providerFor } from './providers.ts'

interface Endpoint {
  readonly name: string
  readonly account: Account
  /** Of the first deployment on it; others override it in their bindings. */
  readonly servedModel: string
}

interface Binding {
  readonly endpoint: Endpoint
  readonly servedModel: string
  weight: number
  readonly priority: number
}

interface Publication {
  readonly name: string
  readonly first: Deployment
  readonly bindings: Binding[]
}

/**
 * Deployments as endpoints, publications and bindings. What shares address, credential and limits is one endpoint;
 * a model with two deployments on one account gets a second endpoint of the same account, for a binding is one of
 * each.
 */
export class Assembly {
  readonly #endpoints: Endpoint[] = []
  readonly #publications = new Map<string, Publication>()

  add(deployment: Deployment): void {
    const { publication: name, price, window } = deployment
    const publication = this.#publications.get(name) ?? { name, first: deployment, bindings: [] }
    this.#publications.set(name, publication)
    const { first } = publication
    if (JSON.stringify(price.amounts) !== JSON.stringify(first.price.amounts)) {
      for (const part of price.parts) part.leave(`\`${name}\` has one price in gw, that of its first entry`)
    }
    if (window.maxInput !== first.window.maxInput || window.maxOutput !== first.window.maxOutput) {
      for (const part of window.parts) part.leave(`\`${name}\` has one window in gw, that of its first entry`)
    }
    this.#bind(publication, deployment.account, deployment)
  }

  /**
   * The endpoints of `others` as the next tiers of a publication: those that are asked where no earlier one is usable.
   */
  fallBack(name: string, others: readonly Part[]): void {
    const publication = this.#publications.get(name)
    if (publication === undefined) return
    const protocols = new Set(publication.bindings.map(({ endpoint }) => endpoint.account.protocol))
    let priority = Math.max(...publication.bindings.map(binding => binding.priority))
    for (const part of others) {
      const other = part.text === undefined ? undefined : this.#publications.get(part.text)
      if (other === undefined) {
        part.leave('no model of that name was carried')
        continue
      }
      const own = other.bindings.filter(({ endpoint }) => protocols.has(endpoint.account.protocol))
      if (own.length === 0) {
        part.leave('of another protocol: gw translates nothing, so it cannot stand in')
        continue
      }
      priority++
      part.keep()
      for (const { endpoint, servedModel, weight } of own.filter(binding => binding.priority === 0)) {
        this.#bind(publication, endpoint.account, { servedModel, weight, priority })
      }
    }
  }

  /** Another name for a publication. False where the name is taken, or there is no such publication. */
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
      ...publication.bindings.map(binding =>
        resource(
          'binding',
          bindingName(publication.name, binding.endpoint.name),
          bindingSpec(publication.name, binding),
        ),
      ),
    ])
    return [...endpoints, ...rest]
  }

  #bind(
    publication: Publication,
    account: Account,
    { servedModel, weight, priority }: Pick<Deployment, 'servedModel' | 'weight' | 'priority'>,
  ): void {
    const alike = this.#endpoints.filter(endpoint => same(endpoint.account, account))
    const taken = new Map(publication.bindings.map(binding => [binding.endpoint, binding]))
    for (const endpoint of alike) {
      const binding = taken.get(endpoint)
      if (binding?.servedModel !== servedModel) continue
      // The same twice is the same with more weight; in a later tier it would never be asked.
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

function same(a: Account, b: Account): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The provider, and the host where it is a server of one's own. */
function nameOf({ providerName, baseUrl }: Account): string {
  const provider =
    providerName
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '') || 'upstream'
  if (providerFor(providerName, undefined)?.baseUrl === baseUrl) return provider
  const { hostname } = new URL(baseUrl)
  const host = /^[\d.[\]:]+$/.test(hostname)
    ? hostname.replaceAll(/[^0-9a-f]+/g, '-')
    : (hostname.split('.', 1)[0] ?? '')
  return `${provider}-${host}`.replaceAll(/-+/g, '-').replace(/-$/, '').slice(0, 64)
}

function endpointSpec({ account, servedModel }: Endpoint): Json {
  const { protocol, baseUrl, keyVariable, headers, totalTimeout, maxConcurrency } = account
  return {
    protocol,
    base_url: baseUrl,
    served_model: servedModel,
    ...(keyVariable !== undefined && { upstream_key: { env: keyVariable } }),
    ...(Object.keys(headers).length > 0 && { headers: { ...headers } }),
    ...(totalTimeout !== undefined && { timeouts: { total: totalTimeout } }),
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
  }
}

function publicationSpec({ first }: Publication): Json {
  const { price, window } = first
  return {
    ...(Object.keys(price.amounts).length > 0 && { price: { ...price.amounts } }),
    ...(window.maxInput !== undefined && { max_input_tokens: window.maxInput }),
    ...(window.maxOutput !== undefined && { max_output_tokens: window.maxOutput }),
  }
}

function bindingSpec(publication: string, { endpoint, servedModel, weight, priority }: Binding): Json {
  return {
    publication,
    endpoint: endpoint.name,
    weight: Math.min(weight, 1_000_000),
    priority: Math.min(priority, 1_000),
    ...(servedModel !== endpoint.servedModel && { served_model: servedModel }),
  }
}

/** @throws where the schema refuses what was assembled, which is a mistake of the import itself. */
export function resource(kind: Kind, name: string, spec: Json): Resource {
  return { kind, name, spec: encode(kind, KINDS[kind].parse(spec) as Spec<Kind>) }
}
