import type { MessagePort, Worker } from 'node:worker_threads'
import { type BirpcReturn, createBirpc } from 'birpc'
import { errorOf, type SerializedError, serialize } from './serialized-errors.ts'

/** What answers a call, among what birpc sends; `e` is there where the call has failed. */
interface Answer {
  readonly e?: unknown
}

/** What can be asked of another thread, each a promise, and an end to it. */
export type Calls<There extends object, Here extends object> = BirpcReturn<There, Here>

/**
 * Calls over the port between two threads, in both directions: what the other side can do, and what it may ask of this
 * one. Arguments and answers are plain data; an error arrives as what it was, see {@link serialize}. What is sent arrives in
 * its order. A call waits for as long as it takes: whoever sees the other thread end says so with {@link endCalls}.
 */
export function callsOver<There extends object, Here extends object>(
  port: Pick<MessagePort | Worker, 'postMessage' | 'on' | 'off'>,
  here: Here,
): Calls<There, Here> {
  return createBirpc<There, Here>(here, {
    bind: 'functions',
    timeout: -1,
    post: (message: unknown) => port.postMessage(message),
    on: hear => void port.on('message', hear),
    off: hear => void port.off('message', hear),
    resolver: (_name, asked) => asked && throwingErrors(here, asked),
    // Also where it is undefined: a getter of an answer may throw that.
    serialize: (message: Answer) => ('e' in message ? { ...message, e: serialize(message.e) } : message),
    deserialize: (message: Answer) =>
      message.e === undefined ? message : { ...message, e: errorOf(message.e as SerializedError) },
    // An answer that is no data is a fault of the call: birpc tells it to who has called, as what was thrown, and who
    // has answered goes on. An error can always be told.
    onGeneralError: (_error, answered) => answered !== undefined,
  })
}

/** Throws what that does, and an error where that throws what birpc would take for an answer. */
function throwingErrors<Given extends unknown[]>(here: object, asked: (...given: Given) => unknown) {
  return async (...given: Given): Promise<unknown> => {
    try {
      return await asked.apply(here, given)
    } catch (thrown) {
      if (!thrown) throw new Error(String(thrown), { cause: thrown })
      throw thrown
    }
  }
}

/** Nobody answers any more: whoever still waits is rejected with that fault, and whoever calls from now on is, too. */
export function endCalls(
  calls: Pick<Calls<object, object>, '$rejectPendingCalls' | '$close'>,
  fault: Error,
): void {
  void calls.$rejectPendingCalls(({ reject }) => reject(fault))
  calls.$close()
}
