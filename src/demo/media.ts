import { type DemoAnswer, DemoFault, type DemoScene, type Fields, modelOf } from './answer.ts'
import { answerCount, readTexts, tokens } from './conversation.ts'

/** A transparent pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
/** Tokens of an image of low quality. */
const IMAGE_TOKENS = 272

/** `POST /v1/images/generations` and `/v1/images/edits`: pixels in base64, with usage. */
export function images(body: Fields, scene: DemoScene): DemoAnswer {
  modelOf(body)
  const count = answerCount(Number(body['n'] ?? 1))
  const text_tokens = tokens(textOf(body, 'prompt'))
  const output_tokens = IMAGE_TOKENS * count
  const usage = {
    input_tokens: text_tokens,
    input_tokens_details: { text_tokens, image_tokens: 0 },
    output_tokens,
    total_tokens: text_tokens + output_tokens,
  }
  const data = Array.from({ length: count }, () => ({ b64_json: PNG }))
  if (body['stream'] !== true && body['stream'] !== 'true')
    return { kind: 'json', body: { created: Math.floor(scene.nowMs / 1000), data, usage } }
  const type = 'image_generation.completed'
  const events = data.map(image => `event: ${type}\ndata: ${JSON.stringify({ type, ...image, usage })}\n\n`)
  return { kind: 'stream', events }
}

const SAMPLES_PER_SECOND = 8_000
const SAMPLES_PER_CHARACTER = 400

/** `POST /v1/audio/speech`: silence of the length of the text, as WAV of 8 bits. */
export function speech(body: Fields): DemoAnswer {
  modelOf(body)
  const text = textOf(body, 'input')
  const samples = Buffer.alloc(text.length * SAMPLES_PER_CHARACTER, 128)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(SAMPLES_PER_SECOND, 24)
  head.writeUInt32LE(SAMPLES_PER_SECOND, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return { kind: 'bytes', contentType: 'audio/wav', body: Buffer.concat([head, samples]) }
}

/** Bytes of a recording at 128 kbit/s. */
const BYTES_PER_SECOND = 16_000

/** `POST /v1/audio/transcriptions` and `/v1/audio/translations`: says how large the file is. */
export function transcription(form: Fields): DemoAnswer {
  modelOf(form)
  const { file } = form
  if (!(file instanceof Blob)) throw new DemoFault(400, "'file' must be a recording", 'file')
  const text = `You sent ${file.size} bytes.`
  const format = form['response_format'] ?? 'json'
  if (format !== 'json' && format !== 'verbose_json')
    return { kind: 'bytes', contentType: 'text/plain; charset=utf-8', body: Buffer.from(text) }
  const usage = { type: 'duration', seconds: Math.ceil(file.size / BYTES_PER_SECOND) }
  if (form['stream'] !== 'true') return { kind: 'json', body: { text, usage } }
  const events = [
    { type: 'transcript.text.delta', delta: text },
    { type: 'transcript.text.done', text, usage },
  ]
  return { kind: 'stream', events: events.map(event => `data: ${JSON.stringify(event)}\n\n`) }
}

/** `POST /v1/moderations`: nothing is flagged. */
export function moderations(body: Fields, scene: DemoScene): DemoAnswer {
  const results = readTexts(body['input'], 'input').map(() => ({
    flagged: false,
    categories: { harassment: false, violence: false },
    category_scores: { harassment: 0, violence: 0 },
    category_applied_input_types: { harassment: ['text'], violence: ['text'] },
  }))
  return { kind: 'json', body: { id: scene.id('modr-'), model: modelOf(body), results } }
}

function textOf(body: Fields, name: string): string {
  const text = body[name]
  if (typeof text === 'string' && text !== '') return text
  throw new DemoFault(400, `'${name}' must be a text`, name)
}
