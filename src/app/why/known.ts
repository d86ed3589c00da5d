import { nearest } from '../../config/nearest.ts'
import type { Background } from '../../gateway/why/background.ts'
import type { Kind } from '../../schema/kinds.ts'
import type { KnownResource, Scene } from './scene.ts'

/** What was looked up for one question: a decision is made without waiting. */
export class Known implements Background {
  readonly maintenanceByHand: boolean
  readonly #scene: Scene
  readonly #found = new Map<string, KnownResource>()

  constructor(scene: Scene) {
    this.#scene = scene
    this.maintenanceByHand = scene.maintenanceByHand
  }

  async learn(kind: Kind, name: string): Promise<void> {
    if (this.#found.has(`${kind} ${name}`)) return
    const found = await this.#scene.one(kind, name)
    if (found) this.#found.set(`${kind} ${name}`, found)
  }

  async learnAll(kind: Kind): Promise<void> {
    for (const resource of await this.#scene.all(kind)) this.#found.set(`${kind} ${resource.name}`, resource)
  }

  /** The publication, and the endpoints that serve it. */
  async learnModel(model: string): Promise<void> {
    await this.learn('publication', model)
    const targets = this.#scene.view.snapshot.publications.get(model)?.targets
    for (const { endpoint } of [...(targets?.openai ?? []), ...(targets?.anthropic ?? [])]) {
      await this.learn('endpoint', endpoint.name)
    }
  }

  names(kind: Kind): readonly string[] {
    return [...this.#found].filter(([id]) => id.startsWith(`${kind} `)).map(([, { name }]) => name)
  }

  find(kind: Kind, name: string): KnownResource | undefined {
    return this.#found.get(`${kind} ${name}`)
  }

  isHeld(key: string): boolean {
    return this.find('key', key)?.isHeld === true
  }

  meant(model: string): string | undefined {
    return nearest(model, this.#scene.view.snapshot.publications.keys())
  }
}
