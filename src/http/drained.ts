import type { Writable } from 'node:stream'

/** Resolves when the stream takes more, or is closed. */
export function drained(stream: Writable): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      stream.off('drain', done).off('close', done)
      resolve()
    }
    stream.on('drain', done).on('close', done)
  })
}
