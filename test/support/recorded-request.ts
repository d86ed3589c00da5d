/** One request as it came over the wire, byte for byte. */
export interface RecordedRequest {
  readonly method: string
  /** As sent, the query included. */
  readonly target: string
  /** The target up to the first `?`. */
  readonly path: string
  /** Such as `HTTP/1.1`. */
  readonly version: string
  /** Name and value of each header line, in the order and the letter case in which they came. */
  readonly headerLines: readonly (readonly [name: string, value: string])[]
  /** The bytes of the head, up to and with its empty line. */
  readonly head: Buffer
  /** The body as far as it came, chunk framing taken off. */
  readonly body: Buffer
  /** How the end of the body is marked. */
  readonly framing: 'length' | 'chunked' | 'none'
  /** Requests that came over one connection share this number. */
  readonly connection: number
  /** Resolves with the last byte of the body. Never, where the client hangs up before. */
  readonly received: Promise<void>
  /** Whether the client hung up before the answer had been given. */
  readonly hungUp: boolean
  /** Resolves when that happens; never, where the client stays to the end. */
  readonly gone: Promise<void>
  /** The value of a header, in any letter case. Throws where there are several lines of the name. */
  header(name: string): string | undefined
  text(): string
  json(): unknown
}

/** A request that is still growing. */
export class IncomingRecord implements RecordedRequest {
  readonly method: string
  readonly target: string
  readonly path: string
  readonly version: string
  readonly headerLines: readonly (readonly [string, string])[]
  readonly head: Buffer
  readonly framing: 'length' | 'chunked' | 'none'
  readonly connection: number
  readonly received: Promise<void>
  readonly gone: Promise<void>
  hungUp = false
  answered = false
  #chunks: Buffer[] = []
  #complete = (): void => undefined
  #leave = (): void => undefined

  constructor(head: Buffer, connection: number) {
    const [start = '', ...lines] = head.toString('latin1').slice(0, -4).split('\r\n')
    const [method = '', target = '', version = ''] = start.split(' ')
    this.head = head
    this.connection = connection
    this.method = method
    this.target = target
    this.path = target.split('?', 1)[0] ?? ''
    this.version = version
    this.headerLines = lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
    })
    const chunked = this.header('transfer-encoding')?.toLowerCase() === 'chunked'
    this.framing = chunked ? 'chunked' : this.header('content-length') === undefined ? 'none' : 'length'
    this.received = new Promise(resolve => {
      this.#complete = resolve
    })
    this.gone = new Promise(resolve => {
      this.#leave = resolve
    })
  }

  get body(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? Buffer.alloc(0)
  }

  header(name: string): string | undefined {
    const wanted = name.toLowerCase()
    const values = this.headerLines
      .filter(([line]) => line.toLowerCase() === wanted)
      .map(([, value]) => value)
    if (values.length > 1) throw new Error(`${values.length} lines of ${name}: ${values.join(' | ')}`)
    return values[0]
  }

  text(): string {
    return this.body.toString('utf8')
  }

  json(): unknown {
    return JSON.parse(this.text())
  }

  add(piece: Buffer): void {
    if (piece.length > 0) this.#chunks.push(piece)
  }

  complete(): void {
    this.#complete()
  }

  /** The connection is over: that counts as hanging up only while an answer is owed. */
  leave(): void {
    if (this.answered || this.hungUp) return
    this.hungUp = true
    this.#leave()
  }
}
