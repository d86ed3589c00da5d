import type { Clock } from '../../base/clock.ts'
import { Instruments } from './instruments.ts'
import { type Host, watchProcess } from './process.ts'
import { Registry } from './prom-client.ts'
import { type StateSources, showState, watchCommits } from './state.ts'
import type { Traffic } from './traffic.ts'

export interface MetricsPorts {
  readonly traffic: Traffic
  readonly sources: StateSources
  readonly host: Host
  readonly clock: Clock
}

/** The answer of `/metrics`. */
export interface Scrape {
  readonly contentType: string
  /** The text in pieces, so that megabytes are never joined or encoded at once. */
  readonly pieces: readonly Buffer[]
}

/** Characters written before yielding to the event loop: about a millisecond of work. */
const PIECE_CHARACTERS = 65_536

/** All metrics of one gateway, in a separate registry. Must be closed. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #traffic: Traffic
  readonly #endings: readonly (() => void)[]
  #writing: Promise<Scrape> | undefined

  constructor({ traffic, sources, host, clock }: MetricsPorts) {
    this.#traffic = traffic
    const instruments = new Instruments(this.#registry)
    showState(instruments, sources, () => traffic.inFlight)
    this.#endings = [
      watchCommits(instruments, sources.ledger, clock),
      watchProcess(instruments, host, clock.nowMs()),
    ]
  }

  /** Concurrent scrapes share one answer. */
  scrape(): Promise<Scrape> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  close(): void {
    for (const end of this.#endings) end()
  }

  async #write(): Promise<Scrape> {
    const pieces = [Buffer.from(await this.#registry.metrics())]
    let text = ''
    for (const part of this.#traffic.text()) {
      text += part
      if (text.length < PIECE_CHARACTERS) continue
      pieces.push(Buffer.from(text))
      text = ''
      await new Promise(resolve => setImmediate(resolve))
    }
    pieces.push(Buffer.from(text))
    return { contentType: this.#registry.contentType, pieces }
  }
}
