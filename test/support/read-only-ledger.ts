import { BroadcastChannel } from 'node:worker_threads'

/** The ledger's thread, compiled, with a switch on its connection: see {@link makeReadOnly}. */
export const READ_ONLY_WORKER = new URL('./read-only-worker.mjs', import.meta.url)

/** Lets the writer of a ledger, started with {@link READ_ONLY_WORKER}, write no more, or again. */
export async function makeReadOnly(path: string, isReadOnly: boolean): Promise<void> {
  const channel = new BroadcastChannel(`read-only ${path}`)
  try {
    await new Promise<void>(resolve => {
      channel.addEventListener('message', () => resolve())
      channel.postMessage(isReadOnly)
    })
  } finally {
    channel.close()
  }
}
