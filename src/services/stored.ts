import { CommandError } from '../base/catalogue/command.ts'
import { PasswordHasher } from '../base/password.ts'
import { openStore } from '../store/open.ts'
import type { Live, Store } from '../store/types.ts'
import type { AppPorts, Context } from './context.ts'
import { loggedIn } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'

type StorePorts = Pick<AppPorts, 'clock' | 'cwd' | 'onMigration'>

/** Opens the store for the duration of `work`, and closes it in any case. */
export async function withStore<T>(
  url: string,
  mode: 'read' | 'write' | 'create',
  ports: StorePorts,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const { clock, cwd: folder, onMigration } = ports
  const store = await openStore(url, { mode, clock, folder, onMigration })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The context of operations by the user who is logged in to this machine. */
export function localContext(store: Store, ports: Omit<AppPorts, 'cwd' | 'readStdin'>): Context {
  const { clock, random, signal, environment } = ports
  const { author: name } = loggedIn(environment)
  return {
    store,
    actor: { origin: 'cli', ...(name !== undefined && { name }), role: 'operator' },
    clock,
    random,
    signal,
    check: wouldServe(signal),
    hasher: new PasswordHasher({ random, atOnce: 1, maxWaiting: 1 }),
    auditLog: store.users,
  }
}

/** The store of one command: opened at its first use, and only once. It may not exist yet. */
export class CommandStore {
  readonly url: string
  readonly #mode: 'read' | 'write'
  readonly #ports: StorePorts
  #store: Store | undefined

  /** @param mode `read` changes nothing, `write` also migrates a store of an older gw. */
  constructor(url: string, mode: 'read' | 'write', ports: StorePorts) {
    this.url = url
    this.#mode = mode
    this.#ports = ports
  }

  /** Undefined if the store does not exist yet. @throws {CommandError} store_… */
  async existing(): Promise<Store | undefined> {
    try {
      return await this.required()
    } catch (error) {
      if (error instanceof CommandError && error.code === 'store_missing') return undefined
      throw error
    }
  }

  /** @throws {CommandError} store_missing and other store_… */
  async required(): Promise<Store> {
    return this.#store ?? (await this.#open(this.#mode))
  }

  /** Creates the store if it is missing. @throws {CommandError} store_… */
  async created(): Promise<Store> {
    return this.#store ?? (await this.#open('create'))
  }

  /** The state of the store; an empty one if the store does not exist yet. @throws {CommandError} store_… */
  async live(): Promise<Live> {
    const store = await this.existing()
    const head = { revision: 0, keyVersion: 0 }
    return store
      ? store.live()
      : { head, atMs: this.#ports.clock.nowMs(), resources: [], secrets: [], holds: [] }
  }

  async close(): Promise<void> {
    await this.#store?.close()
  }

  async #open(mode: 'read' | 'write' | 'create'): Promise<Store> {
    const { clock, cwd: folder, onMigration } = this.#ports
    this.#store = await openStore(this.url, { mode, clock, folder, onMigration })
    return this.#store
  }
}

/** Lends a {@link CommandStore} to `work`, and closes it in any case. */
export async function withCommandStore<T>(
  url: string,
  mode: 'read' | 'write',
  ports: StorePorts,
  work: (stored: CommandStore) => Promise<T>,
): Promise<T> {
  const stored = new CommandStore(url, mode, ports)
  try {
    return await work(stored)
  } finally {
    await stored.close()
  }
}
