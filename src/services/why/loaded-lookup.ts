import { didYouMean } from '../../config/did-you-mean.ts'
import type { Kind } from '../../schema/kinds.ts'
import type { DeclaredState, WhyContext } from './context.ts'
import type { WhyLookup } from './lookup.ts'

/** The resources loaded for one question, so that the decision itself is synchronous. */
export class LoadedLookup implements WhyLookup {
  readonly manualMaintenance: boolean
  readonly #context: WhyContext
  readonly #found = new Map<string, DeclaredState>()

  constructor(context: WhyContext) {
    this.#context = context
    this.manualMaintenance = context.manualMaintenance
  }

  async load(kind: Kind, name: string): Promise<void> {
    if (this.#found.has(`${kind} ${name}`)) return
    const found = await this.#context.one(kind, name)
    if (found) this.#found.set(`${kind} ${name}`, found)
  }

  async loadAll(kind: Kind): Promise<void> {
    for (const resource of await this.#context.all(kind))
      this.#found.set(`${kind} ${resource.name}`, resource)
  }

  /** Loads a publication and the endpoints that serve it. */
  async loadModel(model: string): Promise<void> {
    await this.load('publication', model)
    const targets = this.#context.view.snapshot.publications.get(model)?.targets
    for (const { endpoint } of [...(targets?.openai ?? []), ...(targets?.anthropic ?? [])]) {
      await this.load('endpoint', endpoint.name)
    }
  }

  names(kind: Kind): readonly string[] {
    return [...this.#found].filter(([id]) => id.startsWith(`${kind} `)).map(([, { name }]) => name)
  }

  find(kind: Kind, name: string): DeclaredState | undefined {
    return this.#found.get(`${kind} ${name}`)
  }

  isSuspended(key: string): boolean {
    return this.find('key', key)?.isSuspended === true
  }

  didYouMean(model: string): string | undefined {
    return didYouMean(model, this.#context.view.snapshot.publications.keys())
  }
}
