import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WhenOver } from './when-over.ts'

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly isError: boolean
  readonly resource: Readonly<Record<string, unknown>>
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[]
  }[]
}

interface JsonSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number }
}

export interface Collector {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** Of every export so far: its path, headers and text. */
  readonly exports: readonly {
    readonly path: string
    readonly headers: IncomingHttpHeaders
    readonly text: string
  }[]
  /** What it answers from now on. `silent`: nothing. */
  answer(status: number | 'silent'): void
  /** Resolves once something was exported. */
  exported(): Promise<void>
  /** The spans of the call whose span is this one, once they have arrived: it comes last. */
  call(requestId: unknown): Promise<readonly ReceivedSpan[]>
}

/** A collector of OpenTelemetry for traces: OTLP over HTTP, in JSON. */
export async function collector(whenOver: WhenOver): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const exports: Collector['exports'][number][] = []
  let status: number | 'silent' = 200
  let wake: () => void = () => undefined
  let arrived = new Promise<void>(resolve => {
    wake = resolve
  })
  const server = createServer((req, res) => {
    const pieces: Buffer[] = []
    req.on('data', (piece: Buffer) => pieces.push(piece))
    req.on('end', () => {
      const text = Buffer.concat(pieces).toString()
      exports.push({ path: req.url ?? '', headers: req.headers, text })
      if (status === 200) spans.push(...spansOf(JSON.parse(text) as TraceRequest))
      const announce = wake
      arrived = new Promise(resolve => {
        wake = resolve
      })
      announce()
      if (status !== 'silent') res.writeHead(status, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenOver(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    exports,
    answer: next => {
      status = next
    },
    async exported() {
      while (exports.length === 0) await arrived
    },
    async call(requestId) {
      for (;;) {
        const root = spans.find(({ attributes }) => attributes['gw.request_id'] === requestId)
        if (root) return spans.filter(({ traceId }) => traceId === root.traceId)
        await arrived
      }
    },
  }
}

function spansOf({ resourceSpans }: TraceRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(span => ({
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        ...(span.parentSpanId !== undefined && { parentSpanId: span.parentSpanId }),
        kind: span.kind,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: plain(span.attributes),
        isError: span.status.code === 2,
        resource: plain(resource.attributes),
      })),
    ),
  )
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}
