import { type Agent, type IncomingMessage, request } from 'node:http'

/** What a client has seen of its answer. */
export interface Seen {
  /** 0: no head. */
  readonly status: number
  readonly requestId: string | undefined
  readonly body: string
  /** The answer came to the end of its framing. */
  readonly whole: boolean
  /** What the system said where there is no head, such as `ECONNREFUSED`. */
  readonly fault?: string | undefined
  /** The connection had served another call before. */
  readonly isReused: boolean
}

export interface CallOptions {
  readonly agent: Agent
  readonly path: string
  readonly body: string
  readonly secret: string
  /** Called with what has come so far; true: leave now. Also called once when the request is on its way. */
  readonly leaves?: (bytes: number) => boolean
  /** Leave after so long, wherever the answer stands. */
  readonly leavesAfterMs?: number | undefined
}

/** Never rejects: whatever happens is what the client has seen. */
export function call(url: string, options: CallOptions): Promise<Seen> {
  const { agent, path, body, secret, leaves, leavesAfterMs } = options
  return new Promise(resolve => {
    let answer: IncomingMessage | undefined
    let text = ''
    let fault: string | undefined
    const over = (whole: boolean): void => {
      clearTimeout(timer)
      const requestId = answer?.headers['x-request-id']
      resolve({
        status: answer?.statusCode ?? 0,
        requestId: typeof requestId === 'string' ? requestId : undefined,
        body: text,
        whole,
        fault,
        isReused: req.reusedSocket,
      })
    }
    const req = request(url + path, {
      agent,
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-length': Buffer.byteLength(body) },
    })
    const timer = leavesAfterMs === undefined ? undefined : setTimeout(() => req.destroy(), leavesAfterMs)
    req.on('error', (error: NodeJS.ErrnoException) => {
      fault = error.code
      over(false)
    })
    req.on('response', res => {
      answer = res
      res.setEncoding('latin1')
      res.on('data', (piece: string) => {
        text += piece
        if (leaves?.(text.length)) req.destroy()
      })
      res.on('end', () => over(res.complete))
      res.on('error', () => over(false))
      res.on('close', () => over(res.complete))
    })
    req.end(body)
  })
}
