import type { MessagePort, Worker } from 'node:worker_threads'
import { type BirpcReturn, createBirpc } from 'birpc'
import { errorOf, type SerializedError, serialize } from './serialized-errors.ts'

/** A birpc answer; `e` is present if the call has failed. */
interface Answer {
  readonly e?: unknown
}

/** The functions of another thread, each returning a promise, and a way to end them. */
export type Calls<There extends object, Here extends object> = BirpcReturn<There, Here>

/**
 * Two-way calls over the port between two threads. Arguments and answers are plain data; an error arrives with its
 * class, see {@link serialize}. Messages arrive in their order. A call has no timeout: the observer of the other
 * thread's end must call {@link endCalls}.
 */
export function callsOver<There extends object, Here extends object>(
  port: Pick<MessagePort | Worker, 'postMessage' | 'on' | 'off'>,
  here: Here,
): Calls<There, Here> {
  return createBirpc<There, Here>(here, {
    bind: 'functions',
    timeout: -1,
    post: (message: unknown) => port.postMessage(message),
    on: listener => void port.on('message', listener),
    off: listener => void port.off('message', listener),
    resolver: (_name, method) => method && throwingErrors(here, method),
    // Also if `e` is undefined: a getter of an answer may throw undefined.
    serialize: (message: Answer) => ('e' in message ? { ...message, e: serialize(message.e) } : message),
    deserialize: (message: Answer) =>
      message.e === undefined ? message : { ...message, e: errorOf(message.e as SerializedError) },
    // An answer that cannot be cloned is an error of the call: birpc rejects the caller with it, and the answering
    // side continues. An error can always be serialized.
    onGeneralError: (_error, answered) => answered !== undefined,
  })
}

/** Calls the method. Replaces a falsy thrown value by an error, because birpc would take it for an answer. */
function throwingErrors<Given extends unknown[]>(here: object, method: (...given: Given) => unknown) {
  return async (...given: Given): Promise<unknown> => {
    try {
      return await method.apply(here, given)
    } catch (thrown) {
      if (!thrown) throw new Error(String(thrown), { cause: thrown })
      throw thrown
    }
  }
}

/** Rejects all pending and future calls with the error. */
export function endCalls(
  calls: Pick<Calls<object, object>, '$rejectPendingCalls' | '$close'>,
  fault: Error,
): void {
  void calls.$rejectPendingCalls(({ reject }) => reject(fault))
  calls.$close()
}
