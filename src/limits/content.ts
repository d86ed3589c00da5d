import { GwError } from '../base/catalogue/wire.ts'
import { CursorSpent, JsonCursor } from '../base/json/cursor.ts'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../base/json/grammar.ts'
import type { JsonMember } from '../base/json/scanner.ts'
import { extract } from '../base/splice.ts'
import type { BodyFields } from '../schema/paths.ts'
import {
  EARLIER_ANSWER_AUDIO,
  type MediaDialect,
  type MediaTokens,
  type Medium,
  mediaTokens,
  mediumOf,
  recordingMs,
} from './media.ts'

/** The parts of a body that are measured. */
export interface Body {
  readonly pieces: readonly Buffer[]
  readonly lengthBytes: number
  /** The members at the root, by name; their offsets count over all pieces. */
  readonly fields: Readonly<Record<string, JsonMember | undefined>>
}

/** The text bytes of a body, and the tokens of its media. */
export interface Content {
  /** All bytes except those of embedded media, and of token ids. */
  readonly textBytes: number
  /** All media and token ids together; see {@link MediaTokens}. */
  readonly media: MediaTokens
  /** Prompts that are answered separately; absent: one. */
  readonly prompts?: number
  /** Characters of a text that is read aloud. */
  readonly characters?: number
  /** Of recordings: an upper bound, and the probable one. */
  readonly durationMs?: { readonly bound: number; readonly likely: number }
  /** Ids of stored items that the input refers to. */
  readonly references?: readonly string[]
  /** Ids of other items that an upstream may complete from what it keeps under the id. */
  readonly mentions?: readonly string[]
}

/**
 * Depth of a medium: the array of messages, a message, and a content part. Most conversations are plain text and need no
 * walk.
 */
const MEDIA_DEPTH = 3
/** Limit of walked values, about ten milliseconds; conversations have fewer. */
const MAX_STEPS = 1_000_000
/** More than any model reads: held if the walk was stopped. */
const BEYOND: MediaTokens = { bound: Number.MAX_SAFE_INTEGER, likely: 0 }
const NO_MEDIA: MediaTokens = { bound: 0, likely: 0 }

/**
 * Measures what the model reads.
 *
 * @param place The member with the content; absent: all bytes are text.
 * @throws {GwError} invalid_parameter if the input of a response has too many values to find what it refers to.
 */
export function measureContent(body: Body, place: BodyFields['content'], dialect: MediaDialect): Content {
  const content = place && body.fields[place.name]
  const text: Content = { textBytes: body.lengthBytes, media: NO_MEDIA }
  switch (place?.form) {
    case undefined:
      return text
    case 'messages':
      return content?.kind === 'array' ? measureMessages(body, content, dialect) : text
    case 'prompts':
      return content?.kind === 'array' ? measurePrompts(body, content) : text
    case 'items':
      return withStoredPrompt(body, content?.kind === 'array' ? measureItems(body, content, dialect) : text)
    case 'characters':
      return { ...text, characters: content?.kind === 'string' ? charactersOf(body, content) : 0 }
  }
}

/** A longer text is counted by its bytes: no model reads it aloud. */
const MAX_DECODED_BYTES = 1_048_576

/** The characters (code points) of a text. */
function charactersOf({ pieces }: Body, { start, end }: JsonMember): number {
  if (end - start > MAX_DECODED_BYTES) return end - start
  const text = JSON.parse(extract(pieces, start, end).toString()) as string
  let characters = 0
  for (const _ of text) characters++
  return characters
}

/** A prompt that the upstream keeps may fill the context window. */
function withStoredPrompt({ fields }: Body, content: Content): Content {
  if (fields['prompt']?.kind !== 'object') return content
  return { ...content, media: { bound: BEYOND.bound, likely: content.media.likely } }
}

const LEAST_PROMPT_BYTES = 3

/** A reference is an object in the array. */
const REFERENCE_DEPTH = 2

/**
 * Separates text and media of the input of a response, and finds the stored items that it refers to.
 *
 *     input[] ▸ content[] ▸ input_image, input_file, input_audio
 *             ▸ output[]    the same, of a tool's result; or one of them
 *             ▸ result      the base64 of an image_generation_call
 *             ▸ id          of an item_reference, or of an item that may lack its content
 */
function measureItems({ pieces, lengthBytes }: Body, at: JsonMember, dialect: MediaDialect): Content {
  if (at.depth < REFERENCE_DEPTH) return { textBytes: lengthBytes, media: NO_MEDIA }
  const walker = new ContentWalker(new JsonCursor(pieces, at.start, MAX_STEPS), dialect)
  try {
    walker.items()
  } catch (error) {
    if (!(error instanceof CursorSpent)) throw error
    throw new GwError('invalid_parameter', `\`input\` has more than ${MAX_STEPS / 4} values.`, {
      param: 'input',
    })
  }
  const media = { bound: walker.bound, likely: walker.likely }
  return {
    textBytes: lengthBytes - walker.mediaBytes,
    media,
    references: walker.references,
    mentions: walker.mentions,
  }
}

/**
 * Counts the prompts of a completion, or the inputs of embeddings: `["text", …]`, `[token, …]` or `[[token, …], …]`. A
 * token id may be a single digit, so that its bytes are no bound of its tokens.
 */
function measurePrompts({ pieces, lengthBytes }: Body, { start, end }: JsonMember): Content {
  const cursor = new JsonCursor(pieces, start, MAX_STEPS)
  let prompts = 0
  let tokens = 0
  let texts = 0
  const count = (depth: number): void =>
    cursor.items(() => {
      const first = cursor.peek()
      if (first === OPEN_ARRAY && depth === 0) {
        prompts++
        return count(depth + 1)
      }
      if (first === QUOTE || first === OPEN_OBJECT || first === OPEN_ARRAY) texts++
      else tokens++
      cursor.skip()
    })
  try {
    count(0)
  } catch (error) {
    if (!(error instanceof CursorSpent)) throw error
    // The rest was not read. Upper bound: it consists of the shortest prompts, two quotes and a comma.
    return { textBytes: lengthBytes, media: BEYOND, prompts: Math.ceil((end - start) / LEAST_PROMPT_BYTES) }
  }
  const textBytes = texts === 0 ? lengthBytes - (end - start) : lengthBytes
  return { textBytes, media: { bound: tokens, likely: tokens }, prompts: Math.max(prompts + texts, 1) }
}

/**
 * Separates text and media of a body. Media count only in the places that vendors read: parts of a message's content
 * (also of a tool result, and of a document made of parts). Only there base64 does not count as text. Anything that looks
 * like an image elsewhere, in a text or in the arguments or schema of a tool, is text to the model and counts as text.
 * Ambiguous values count as both.
 *
 *     messages[] ▸ content[] ▸ image_url, video_url, audio_url: text or { url }    OpenAI, and those like it
 *                            ▸ input_audio { data } · file { file_data, file_id } · image
 *                            ▸ source { type, data | url | file_id | content[] }   Anthropic: image, document
 *                            ▸ content[]                                            of a tool's result
 *     messages[] ▸ audio { id }                                                     an earlier answer
 */
function measureMessages({ pieces, lengthBytes }: Body, at: JsonMember, dialect: MediaDialect): Content {
  if (at.depth < MEDIA_DEPTH) return { textBytes: lengthBytes, media: NO_MEDIA }
  const walker = new ContentWalker(new JsonCursor(pieces, at.start, MAX_STEPS), dialect)
  try {
    walker.messages()
  } catch (error) {
    if (!(error instanceof CursorSpent)) throw error
    walker.add(BEYOND)
  }
  return { textBytes: lengthBytes - walker.mediaBytes, media: { bound: walker.bound, likely: walker.likely } }
}

/**
 * Items that carry all of their content. The documentation of OpenAI sends others with no more than their id, such as an
 * image_generation_call without its `result`.
 */
const COMPLETE_ITEMS = new Set(['message', 'function_call', 'function_call_output'])
/** Items that carry all of their content if they have `encrypted_content`. */
const ENCRYPTED_ITEMS = new Set(['reasoning', 'compaction'])

function isComplete(type: string, isEncrypted: boolean): boolean {
  return COMPLETE_ITEMS.has(type) || (isEncrypted && ENCRYPTED_ITEMS.has(type))
}

/** Parts whose medium without a known type is an image, not a document. */
const IMAGE_TYPES = new Set(['image', 'input_image', 'computer_screenshot'])

class ContentWalker {
  bound = 0
  likely = 0
  /** Bytes of base64 that models do not read as text. */
  mediaBytes = 0
  /** Ids of stored items. */
  readonly references: string[] = []
  /** Ids of items that an upstream may complete. */
  readonly mentions: string[] = []
  readonly #cursor: JsonCursor
  readonly #dialect: MediaDialect
  /** The input of a response, not messages. */
  #isItems = false

  constructor(cursor: JsonCursor, dialect: MediaDialect) {
    this.#cursor = cursor
    this.#dialect = dialect
  }

  add({ bound, likely }: MediaTokens): void {
    this.bound = Math.min(this.bound + bound, Number.MAX_SAFE_INTEGER)
    this.likely += likely
  }

  messages(): void {
    this.#each(() =>
      this.#members(name => {
        if (name === 'content') this.#parts()
        else if (name === 'audio' && this.#cursor.peek() === OPEN_OBJECT) {
          this.add(EARLIER_ANSWER_AUDIO)
          this.#cursor.skip()
        } else this.#cursor.skip()
      }),
    )
  }

  items(): void {
    this.#isItems = true
    this.#each(() => this.#item())
  }

  #item(): void {
    const types: string[] = []
    const ids: string[] = []
    let isMessage = false
    let isEncrypted: boolean | undefined
    let resultBytes: number | undefined
    this.#members(name => {
      switch (name) {
        case 'type':
          types.push(this.#word())
          return
        case 'id':
          ids.push(this.#word())
          return
        case 'role':
          isMessage = true
          return this.#cursor.skip()
        case 'encrypted_content':
          if (this.#cursor.peek() === QUOTE)
            isEncrypted = this.#cursor.head().lengthBytes > 0 && isEncrypted !== false
          else {
            isEncrypted = false
            this.#cursor.skip()
          }
          return
        case 'content':
          return this.#parts()
        case 'output':
          return this.#cursor.peek() === OPEN_OBJECT ? this.#part() : this.#parts()
        case 'result':
          if (this.#cursor.peek() !== QUOTE) return this.#cursor.skip()
          resultBytes = (resultBytes ?? 0) + this.#cursor.head().lengthBytes
          return
        default:
          return this.#cursor.skip()
      }
    })
    const known = types.filter(type => type !== '')
    if (known.includes('item_reference') || (known.length === 0 && !isMessage)) this.references.push(...ids)
    else if (!known.every(type => isComplete(type, isEncrypted === true)))
      this.mentions.push(...ids.filter(id => id !== ''))
    if (resultBytes === undefined || !known.includes('image_generation_call')) return
    if (known.length === 1) this.mediaBytes += resultBytes
    this.#medium('image', resultBytes)
  }

  #parts(): void {
    if (this.#cursor.peek() === OPEN_ARRAY) this.#each(() => this.#part())
    else this.#cursor.skip()
  }

  #part(): void {
    const types: string[] = []
    const sources: Source[] = []
    this.#members(name => {
      switch (name) {
        case 'type':
          types.push(this.#word())
          return
        case 'image_url':
          return this.#named('image')
        case 'video_url':
          return this.#named('video')
        case 'audio_url':
          return this.#named('audio')
        case 'image':
          return this.#named('image')
        case 'input_audio':
          return this.#inside('audio', 'data')
        case 'file':
          return this.#inside('document', 'file_data')
        case 'source':
          if (this.#cursor.peek() === OPEN_OBJECT) sources.push(this.#source())
          else this.#cursor.skip()
          return
        case 'content':
          return this.#parts()
        case 'file_id':
        case 'file_url':
          if (this.#isItems && this.#cursor.peek() === QUOTE) sources.push({ types: ['url'], dataBytes: 0 })
          return this.#cursor.skip()
        case 'file_data':
          return this.#isItems && this.#cursor.peek() === QUOTE
            ? this.#base64('document')
            : this.#cursor.skip()
        default:
          return this.#cursor.skip()
      }
    })
    // The type of a part with two types is ambiguous: count the more expensive one.
    const medium = types.length > 0 && types.every(type => IMAGE_TYPES.has(type)) ? 'image' : 'document'
    for (const source of sources) this.#count(source, medium)
  }

  /** A URL, or an object with one: an external address, or a data URI. */
  #named(medium: Medium): void {
    const first = this.#cursor.peek()
    if (first === QUOTE) return this.#url(medium)
    if (first !== OPEN_OBJECT) return this.#cursor.skip()
    let named = false
    this.#members(name => {
      if (name !== 'url' || this.#cursor.peek() !== QUOTE) return this.#cursor.skip()
      named = true
      this.#url(medium)
    })
    if (!named) this.#medium(medium)
  }

  #url(medium: Medium): void {
    const { text, lengthBytes } = this.#cursor.head()
    const data = /^data:([^;,]*)[^,]*;base64,/i.exec(text.replaceAll('\\/', '/'))
    if (!data) return this.#medium(medium)
    this.mediaBytes += lengthBytes
    this.#medium(data[1] === '' ? medium : mediumOf(data[1] ?? ''), lengthBytes)
  }

  /** Base64, alone or in a data URI. */
  #base64(medium: Medium): void {
    const { text, lengthBytes } = this.#cursor.head()
    const data = /^data:([^;,]+)[^,]*;base64,/i.exec(text.replaceAll('\\/', '/'))
    this.mediaBytes += lengthBytes
    this.#medium(data ? mediumOf(data[1] ?? '') : medium, lengthBytes)
  }

  /** An object with an embedded medium in one member, or with the id of an uploaded one. */
  #inside(medium: Medium, dataName: string): void {
    if (this.#cursor.peek() !== OPEN_OBJECT) return this.#cursor.skip()
    let insideBytes: number | undefined
    this.#members(name => {
      if (name !== dataName || this.#cursor.peek() !== QUOTE) return this.#cursor.skip()
      insideBytes = (insideBytes ?? 0) + this.#cursor.head().lengthBytes
    })
    this.mediaBytes += insideBytes ?? 0
    this.#medium(medium, insideBytes)
  }

  #source(): Source {
    const types: string[] = []
    let dataBytes = 0
    this.#members(name => {
      if (name === 'type') types.push(this.#word())
      else if (name === 'data' && this.#cursor.peek() === QUOTE) dataBytes += this.#cursor.head().lengthBytes
      else if (name === 'content') this.#parts()
      else this.#cursor.skip()
    })
    return { types, dataBytes }
  }

  /** A text source counts as text; only a pure base64 source does not. */
  #count({ types, dataBytes }: Source, medium: Medium): void {
    if (types.length > 0 && types.every(type => type === 'text' || type === 'content')) return
    if (types.length > 0 && types.every(type => type === 'base64')) this.mediaBytes += dataBytes
    this.#medium(medium, dataBytes)
  }

  #medium(medium: Medium, base64Bytes?: number): void {
    this.add(mediaTokens(medium, this.#dialect, base64Bytes))
  }

  #word(): string {
    if (this.#cursor.peek() === QUOTE) return this.#cursor.text()
    this.#cursor.skip()
    return ''
  }

  #each(onItem: () => void): void {
    this.#cursor.items(onItem)
  }

  /** Passes names in lower case and unescaped: some readers accept `Image_URL` for `image_url`. */
  #members(onMember: (name: string) => void): void {
    if (this.#cursor.peek() !== OPEN_OBJECT) return this.#cursor.skip()
    this.#cursor.members(name => onMember(folded(name)))
  }
}

/** Anthropic's `source`: its types, and the bytes of its `data`. */
interface Source {
  readonly types: readonly string[]
  readonly dataBytes: number
}

const PLAIN = /^[a-z_]*$/

function folded(name: string): string {
  return PLAIN.test(name) ? name : name.normalize('NFKC').toLowerCase()
}

/** A part of an upload. */
interface UploadPart {
  readonly filename: string | undefined
  readonly start: number
  readonly end: number
}

/** Measures an upload: its fields are text, its files images or recordings. */
export function measureUpload(parts: readonly UploadPart[], medium: 'audio' | 'images'): Content {
  let textBytes = 0
  let bound = 0
  let likely = 0
  const durationMs = { bound: 0, likely: 0 }
  for (const { filename, start, end } of parts) {
    const bytes = end - start
    if (filename === undefined) {
      textBytes += bytes
      continue
    }
    const tokens = mediaTokens(medium === 'images' ? 'image' : 'audio', 'openai', (bytes * 4) / 3)
    bound += tokens.bound
    likely += tokens.likely
    if (medium === 'images') continue
    const duration = recordingMs(bytes)
    durationMs.bound += duration.bound
    durationMs.likely += duration.likely
  }
  return { textBytes, media: { bound, likely }, ...(durationMs.bound > 0 && { durationMs }) }
}
