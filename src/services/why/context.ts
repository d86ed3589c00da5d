import { didYouMean } from '../../config/did-you-mean.ts'
import type { Kind } from '../../schema/kinds.ts'
import type { View } from './decide.ts'
import type { DeclaredResource, WhyLookup } from './lookup.ts'
import type { Explanation } from './to-json.ts'

/** A resource as declared, and its manual state. */
export interface DeclaredState extends DeclaredResource {
  readonly name: string
  /** True for a key that was disabled manually. */
  readonly isSuspended?: boolean
}

/** The state that a question is answered from. */
export interface WhyContext {
  readonly source: Explanation['source']
  /** Absent for files. */
  readonly revision?: number
  /** Unknown facts of this source, and the assumptions for them. */
  readonly unknown: readonly string[]
  readonly view: View
  /** Maintenance was switched on manually. */
  readonly manualMaintenance: boolean
  one(kind: Kind, name: string): Promise<DeclaredState | undefined>
  all(kind: Kind): Promise<readonly DeclaredState[]>
}

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
