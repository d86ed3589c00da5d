import type { ScopeName } from '../../../src/schema/shares.ts'
import type { InstanceState, ShareTables } from '../../../src/store/shares/grantor.ts'
import type { ScopeState } from '../../../src/store/shares/rules.ts'

/** The tables of the grantor as maps. */
export class MemoryTables implements ShareTables {
  readonly #instances = new Map<string, InstanceState>()
  readonly #scopes = new Map<string, { name: ScopeName; state: ScopeState }>()
  readonly #shares = new Map<string, { id: string; scope: ScopeName; amount: bigint }>()
  readonly #spent: ShareTables['spent']

  constructor(spent: ShareTables['spent']) {
    this.#spent = spent
  }

  instance(id: string): InstanceState | undefined {
    return this.#instances.get(id)
  }

  saveInstance(id: string, state: InstanceState): void {
    this.#instances.set(id, state)
  }

  deleteInstance(id: string): void {
    this.#instances.delete(id)
  }

  liveInstances(): number {
    return [...this.#instances.values()].filter(({ isFenced }) => !isFenced).length
  }

  scope(name: ScopeName): ScopeState | undefined {
    return this.#scopes.get(idOf(name))?.state
  }

  saveScope(name: ScopeName, state: ScopeState): void {
    this.#scopes.set(idOf(name), { name, state })
  }

  share(id: string, name: ScopeName): bigint | undefined {
    return this.#shares.get(`${id} ${idOf(name)}`)?.amount
  }

  saveShare(id: string, scope: ScopeName, amount: bigint): void {
    if (amount === 0n) this.#shares.delete(`${id} ${idOf(scope)}`)
    else this.#shares.set(`${id} ${idOf(scope)}`, { id, scope, amount })
  }

  sharesOf(id: string): { scope: ScopeName; amount: bigint }[] {
    return [...this.#shares.values()]
      .filter(share => share.id === id)
      .map(({ scope, amount }) => ({ scope, amount }))
  }

  recalled(id: string): readonly ScopeName[] {
    return this.sharesOf(id)
      .filter(({ scope }) => (this.scope(scope)?.wanted ?? 0n) > 0n)
      .map(({ scope }) => scope)
  }

  spent(name: ScopeName, sinceMs: number): bigint {
    return this.#spent(name, sinceMs)
  }
}

function idOf({ owner, limit }: ScopeName): string {
  return `${owner}/${limit}`
}
