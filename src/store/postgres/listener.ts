import process from 'node:process'
import type pg from 'pg'
import type { Clock, Timer } from '../../base/clock.ts'
import type { PostgresAddress } from './address.ts'
import { clientConfig, farewell, loadDriver, type PostgresConnections } from './connection.ts'

const CHANNEL = 'gw_head'
const RETRY_MS = 5_000
/** A notification takes a millisecond; one that does not come in this time is lost in a pooler. */
const PROOF_MS = 2_000

export interface ListenerPorts {
  readonly address: PostgresAddress
  /** Other connections: what they notify of must reach this one. */
  readonly connections: PostgresConnections
  readonly clock: Clock
  readonly onNotification: () => void
  /** Called after each attempt, and when the connection is lost. */
  readonly onState: (isListening: boolean) => void
}

/** A connection of its own that waits for notifications of changed heads; it is made again when it is lost. */
export class Listener {
  readonly #ports: ListenerPorts
  #client: pg.Client | undefined
  #connecting: Promise<void> | undefined
  #timer: Timer | undefined
  #ended = false
  isListening = false
  /** Whether the first attempt is over. */
  hasTried = false

  constructor(ports: ListenerPorts) {
    this.#ports = ports
  }

  /** Does nothing if it has started. */
  start(): void {
    if (this.#ended || this.#client || this.#timer) return
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
      this.hasTried = true
      if (!this.#ended && !this.isListening) this.#retry()
      this.#ports.onState(this.isListening)
    })
  }

  async end(): Promise<void> {
    this.#ended = true
    this.#timer?.cancel()
    await this.#connecting
    await this.#close()
  }

  /** Never rejects: what fails is tried again. */
  async #connect(): Promise<void> {
    try {
      const driver = await loadDriver()
      const client = new driver.Client(clientConfig(driver, this.#ports.address))
      this.#client = client
      client.on('error', () => this.#lost(client))
      client.on('end', () => this.#lost(client))
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      this.isListening = await this.#isProven(client)
      // A payload is the proof of another connection.
      if (this.isListening)
        client.on('notification', ({ payload }) => void (payload === '' && this.#ports.onNotification()))
      else await this.#close()
    } catch {
      this.isListening = false
      await this.#close()
    }
  }

  /** Through a pooler `LISTEN` succeeds, and nothing ever comes. */
  async #isProven(client: pg.Client): Promise<boolean> {
    const { clock, connections } = this.#ports
    const proof = `${String(clock.monotonicMs())} ${process.pid}`
    return new Promise((resolve, reject) => {
      const timer = clock.after(PROOF_MS, () => resolve(false))
      client.on('notification', ({ payload }) => {
        if (payload !== proof) return
        timer.cancel()
        resolve(true)
      })
      client.on('end', () => resolve(false))
      connections
        .use(other => other.query('select pg_notify($1, $2)', [CHANNEL, proof]))
        .catch(error => {
          timer.cancel()
          reject(error)
        })
    })
  }

  #lost(client: pg.Client): void {
    if (client !== this.#client) return
    this.#client = undefined
    if (!this.isListening) return
    this.isListening = false
    this.#ports.onState(false)
    this.#retry()
  }

  #retry(): void {
    if (this.#ended) return
    this.#timer = this.#ports.clock.after(RETRY_MS, () => {
      this.#timer = undefined
      this.start()
    })
  }

  async #close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await farewell(client)
  }
}
