import type { Clock } from '../../base/clock.ts'
import { load } from '../../config/load.ts'
import type { Loaded } from '../../config/types.ts'
import { AnsweringThread } from './answering-thread.ts'

/** A configuration that came as a text, and what exists beside it (see `LoadPorts`). */
export interface Document {
  readonly yaml: string
  readonly known: ReadonlySet<string>
}

const MODULE = new URL('./documents-thread.js', import.meta.url)

/** Understands documents in a thread: thousands of keys take a second, in which the gateway must not stand still. */
export class Documents {
  readonly #thread: AnsweringThread<Document, Loaded>

  /** @param modules where compiled threads are, if not beside this one. */
  constructor(clock: Clock, modules?: URL) {
    const url = modules ? new URL('documents-thread.js', modules) : MODULE
    this.#thread = new AnsweringThread('documents', url, clock)
  }

  understand(document: Document): Promise<Loaded> {
    return this.#thread.ask(document)
  }

  /** Whoever still waits is rejected. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}

/** What a document says. No variable is filled in: those of this process are not for whoever sends one. */
export function understand({ yaml, known }: Document): Promise<Loaded> {
  return load(['-'], { environment: {}, readStdin: () => Promise.resolve(Buffer.from(yaml)), known })
}
