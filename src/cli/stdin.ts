import type { Io } from './io.ts'

/** Reads stdin to its end. @throws the reason of the signal if it is aborted first; the rest stays unread. */
export async function readStdin(io: Pick<Io, 'stdin'>, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted()
  const { stdin } = io
  const hangUp = () => stdin.destroy()
  signal.addEventListener('abort', hangUp, { once: true })
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array))
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', hangUp)
  }
  signal.throwIfAborted()
  return Buffer.concat(chunks)
}
