import { CursorSpent, JsonCursor } from '../base/json/cursor.ts'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../base/json/grammar.ts'
import type { JsonMember } from '../base/json/scanner.ts'
import {
  EARLIER_ANSWER_AUDIO,
  type MediaDialect,
  type MediaTokens,
  type Medium,
  mediaTokens,
  mediumOf,
} from './media.ts'

/** A body, as far as it is weighed. */
export interface Body {
  readonly pieces: readonly Buffer[]
  readonly lengthBytes: number
  /** Where the array `messages` stands, over all pieces together, and its depth; absent where there is none. */
  readonly messagesAt?: Pick<JsonMember, 'start' | 'depth'> | undefined
}

/** What of a body is text, and what its media come to. */
export interface Content {
  /** All bytes but those of media that are inside it. */
  readonly textBytes: number
  /** All media together; see {@link MediaTokens}. */
  readonly media: MediaTokens
}

/**
 * An array of messages, a message, and what a medium is told in. Most conversations are of plain texts and need no
 * walk.
 */
const MEDIA_DEPTH = 3
/** Small values that are walked through, some ten milliseconds of them: conversations have fewer. */
const MAX_STEPS = 1_000_000
/** More than any model reads: what is held where the walk had to stop. */
const BEYOND: MediaTokens = { bound: Number.MAX_SAFE_INTEGER, likely: 0 }
const NO_MEDIA: MediaTokens = { bound: 0, likely: 0 }

/**
 * Tells text and media of a body apart. Media count only where a vendor reads them, as parts of a message's content
 * (also of a tool's result, and of a document made of parts), and only there their base64 is no text: whatever looks
 * like an image elsewhere, in a text, in the arguments or the schema of a tool, is read as text by the model and
 * held for as text. What is unclear is counted both ways.
 *
 *     messages[] ▸ content[] ▸ image_url, video_url, audio_url: text or { url }    OpenAI, and those like it
 *                            ▸ input_audio { data } · file { file_data, file_id } · image
 *                            ▸ source { type, data | url | file_id | content[] }   Anthropic: image, document
 *                            ▸ content[]                                            of a tool's result
 *     messages[] ▸ audio { id }                                                     an earlier answer
 */
export function measureContent({ pieces, lengthBytes, messagesAt }: Body, dialect: MediaDialect): Content {
  if (!messagesAt || messagesAt.depth < MEDIA_DEPTH) return { textBytes: lengthBytes, media: NO_MEDIA }
  const walker = new ContentWalker(new JsonCursor(pieces, messagesAt.start, MAX_STEPS), dialect)
  try {
    walker.messages()
  } catch (error) {
    if (!(error instanceof CursorSpent)) throw error
    walker.add(BEYOND)
  }
  return { textBytes: lengthBytes - walker.mediaBytes, media: { bound: walker.bound, likely: walker.likely } }
}

class ContentWalker {
  bound = 0
  likely = 0
  /** Bytes of base64 that no model reads as text. */
  mediaBytes = 0
  readonly #cursor: JsonCursor
  readonly #dialect: MediaDialect

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
        default:
          return this.#cursor.skip()
      }
    })
    // A part whose type is given twice is what its reader likes: the dearer of the two.
    const medium = types.length > 0 && types.every(type => type === 'image') ? 'image' : 'document'
    for (const source of sources) this.#count(source, medium)
  }

  /** A URL, or an object with one: to somewhere else, or with the medium inside it. */
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

  /** An object with a member that has the medium inside it, or the id of one that was uploaded. */
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

  /** Text that is called a source stays text; only what is nothing but base64 is none. */
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

  /** Names in small letters, with their escapes resolved: some readers take `Image_URL` for `image_url`. */
  #members(onMember: (name: string) => void): void {
    if (this.#cursor.peek() !== OPEN_OBJECT) return this.#cursor.skip()
    this.#cursor.members(name => onMember(folded(name)))
  }
}

/** What Anthropic calls a source: the kinds that it says it is, and the bytes of its `data`. */
interface Source {
  readonly types: readonly string[]
  readonly dataBytes: number
}

const PLAIN = /^[a-z_]*$/

function folded(name: string): string {
  return PLAIN.test(name) ? name : name.normalize('NFKC').toLowerCase()
}
