import type { UpstreamConnection } from '../../src/upstream/connection.ts'

/** What came of one request on a connection. */
export interface UpstreamResponse {
  readonly status: number
  readonly headers: readonly string[]
  /** In latin1. */
  readonly body: string
  /** Absent: the answer is complete. */
  readonly error: Error | undefined
}

export interface ReaderOptions {
  /** Whether a piece leaves room for more. */
  readonly takes?: (piece: Buffer) => boolean
  /** Called if it does not; by default the answer is resumed a turn later. */
  readonly onFull?: (resume: () => void) => void
}

/** Sends a request without a body, and reads the answer. Overwrites what it was given, as the next read would. */
export function responseOn(
  connection: UpstreamConnection,
  head: string,
  { takes = () => true, onFull = resume => void setImmediate(resume) }: ReaderOptions = {},
): Promise<UpstreamResponse> {
  const pieces: Buffer[] = []
  let status = 0
  let headers: readonly string[] = []
  return new Promise(resolve => {
    const end = (error?: Error): void =>
      resolve({ status, headers, body: Buffer.concat(pieces).toString('latin1'), error })
    connection.send(
      { head, body: [], lengthBytes: 0 },
      {
        onDispatched: () => undefined,
        onSent: () => undefined,
        onAnswering: () => undefined,
        onHead: (received, lines) => {
          status = received
          headers = lines
        },
        onData: bytes => {
          const piece = Buffer.from(bytes)
          bytes.fill('#')
          pieces.push(piece)
          if (takes(piece)) return true
          onFull(() => connection.resume())
          return false
        },
        onComplete: () => end(),
        onFailed: end,
      },
    )
  })
}
