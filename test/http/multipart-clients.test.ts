import { readFileSync } from 'node:fs'
import OpenAI, { toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { boundaryOf, type FieldUses, type MultipartScanner } from '../../src/http/multipart.ts'
import { scan } from './multipart-bodies.ts'

interface Recorded {
  readonly client: string
  readonly title: string
  readonly contentType: string
  readonly body: string
}

const RECORDED = JSON.parse(
  readFileSync(new URL('multipart-recorded.json', import.meta.url), 'utf8'),
) as readonly Recorded[]

const TEXTS: FieldUses = { model: 'text', n: 'text', response_format: 'text', prompt: 'text' }

function scanned(contentType: string | null, bytes: Buffer): MultipartScanner {
  const boundary = boundaryOf(contentType ?? undefined)
  if (boundary === undefined) throw new Error(`no boundary in ${contentType}`)
  return scan(bytes, { boundary, uses: TEXTS })
}

/** Name, file name, and the text of a field or the content of a file. */
function partsIn(scanner: MultipartScanner, bytes: Buffer): unknown[] {
  return scanner.parts.map(({ name, filename, start, end }) => [
    name,
    filename,
    bytes.toString('utf8', start, end),
  ])
}

/** What a call of the SDK sends. */
async function sent(call: (client: OpenAI) => Promise<unknown>): Promise<Response> {
  let request: Response | undefined
  const client = new OpenAI({
    apiKey: 'x',
    maxRetries: 0,
    fetch: async (_url, init) => {
      const { headers, body } = new Request('http://x', {
        method: 'POST',
        ...init,
        duplex: 'half',
      })
      request = new Response(body, { headers: { 'content-type': headers.get('content-type') ?? '' } })
      return Response.json({ text: '', data: [] })
    },
  })
  await call(client)
  return request!
}

describe('the bodies of clients', () => {
  it.each(RECORDED)('$client: $title', async ({ contentType, body }) => {
    const bytes = Buffer.from(body)
    const scanner = scanned(contentType, bytes)
    expect(scanner.fault).toBe(undefined)
    expect(scanner.field('model')?.text).toMatch(/^(?:whisper-1|gpt-image-1)$/)
    // The parser of fetch does not know the escapes of Go.
    if (body.includes('\\"')) return
    const form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
    const parsed: unknown[] = []
    for (const [name, value] of form) {
      const isText = typeof value === 'string'
      parsed.push([name, isText ? undefined : value.name, isText ? value : await value.text()])
    }
    expect(partsIn(scanner, bytes)).toEqual(parsed)
  })

  it('the openai SDK: a transcription', async () => {
    const request = await sent(async client =>
      client.audio.transcriptions.create({
        file: await toFile(Buffer.from('RIFF\r\n--'), 'Aufnahme ü".wav'),
        model: 'whisper-1',
        timestamp_granularities: ['word', 'segment'],
        response_format: 'verbose_json',
      }),
    )
    const bytes = Buffer.from(await request.arrayBuffer())
    expect(partsIn(scanned(request.headers.get('content-type'), bytes), bytes)).toEqual([
      ['file', 'Aufnahme ü".wav', 'RIFF\r\n--'],
      ['model', undefined, 'whisper-1'],
      ['response_format', undefined, 'verbose_json'],
      ['timestamp_granularities[]', undefined, 'word'],
      ['timestamp_granularities[]', undefined, 'segment'],
    ])
  })

  it('the openai SDK: an edit of images', async () => {
    const request = await sent(async client =>
      client.images.edit({
        image: [await toFile(Buffer.from('a'), 'a.png'), await toFile(Buffer.from(''), 'b.png')],
        prompt: 'two\r\nlines',
        n: 2,
        model: 'gpt-image-1',
      }),
    )
    const bytes = Buffer.from(await request.arrayBuffer())
    expect(partsIn(scanned(request.headers.get('content-type'), bytes), bytes)).toEqual([
      ['prompt', undefined, 'two\r\nlines'],
      ['n', undefined, '2'],
      ['model', undefined, 'gpt-image-1'],
      ['image[]', 'a.png', 'a'],
      ['image[]', 'b.png', ''],
    ])
  })

  it.each([
    ['.NET', 'Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model'],
    ['OkHttp', 'Content-Disposition: form-data; name="model"\r\nContent-Length: 9'],
    [
      'Apache HttpClient',
      'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit',
    ],
  ])('header lines as %s writes them', (_client, head) => {
    const bytes = Buffer.from(`--x\r\n${head}\r\n\r\nwhisper-1\r\n--x--\r\n`)
    expect(scanned('multipart/form-data; boundary="x"', bytes).field('model')?.text).toBe('whisper-1')
  })
})
