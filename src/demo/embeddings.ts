import { hash } from 'node:crypto'
import { type DemoAnswer, DemoFault, type Fields, modelOf } from './answer.ts'
import { readTexts, tokens } from './conversation.ts'

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 4_096

/** `POST /v1/embeddings`: one vector for each input, as numbers or as base64 of little-endian 32-bit floats. */
export function embeddings(body: Fields): DemoAnswer {
  const model = modelOf(body)
  const texts = readTexts(body['input'], 'input')
  const dimensions = readDimensions(body['dimensions'])
  const base64 = body['encoding_format'] === 'base64'
  const data = texts.map((text, index) => {
    const vector = embed(text, dimensions)
    return { object: 'embedding', index, embedding: base64 ? asBase64(vector) : Array.from(vector) }
  })
  const count = texts.reduce((sum, text) => sum + tokens(text), 0)
  return {
    kind: 'json',
    body: { object: 'list', data, model, usage: { prompt_tokens: count, total_tokens: count } },
  }
}

/**
 * A unit vector that depends only on the text. Each word has its own direction and the text is their sum, so that texts
 * with common words are close to each other: enough to try a search.
 */
export function embed(text: string, dimensions: number): Float32Array {
  const sum = new Float64Array(dimensions)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const direction = directionOf(word, dimensions)
    for (let i = 0; i < dimensions; i++) sum[i] = (sum[i] ?? 0) + (direction[i] ?? 0)
  }
  const length = Math.hypot(...sum) || 1
  return Float32Array.from(sum, value => value / length)
}

/** The cosine of the angle between two unit vectors of one size: 1 for the same direction. */
export function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}

/** Derives uniformly distributed numbers in [-1, 1) from digests. */
function directionOf(word: string, dimensions: number): Float64Array {
  const direction = new Float64Array(dimensions)
  let digest = Buffer.alloc(0)
  for (let i = 0; i < dimensions; i++) {
    const place = (i % 8) * 4
    if (place === 0) digest = Buffer.from(hash('sha256', `${i / 8} ${word}`, 'hex'), 'hex')
    direction[i] = digest.readInt32LE(place) / 2 ** 31
  }
  return direction
}

function asBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [i, value] of vector.entries()) bytes.writeFloatLE(value, i * 4)
  return bytes.toString('base64')
}

function readDimensions(dimensions: unknown): number {
  if (dimensions === undefined || dimensions === null) return DEFAULT_DIMENSIONS
  if (Number.isInteger(dimensions) && Number(dimensions) > 0 && Number(dimensions) <= MAX_DIMENSIONS) {
    return Number(dimensions)
  }
  throw new DemoFault(400, `'dimensions' must be a whole number from 1 to ${MAX_DIMENSIONS}`, 'dimensions')
}
