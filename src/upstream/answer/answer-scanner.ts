import { JsonScanner } from '../../base/json/scanner.ts'
import { countedNames, StringCounter } from '../../base/json/string-counter.ts'

/** Answers may be nested deeper than requests: the upstream decides their content, and a level costs one byte. */
export const MAX_ANSWER_DEPTH = 1_024

/**
 * The names of members that contain model output, below the root's members: `content`, `refusal` and the `arguments` of
 * a tool call (OpenAI, vLLM), the `transcript` of speech (OpenAI), `text` and `partial_json` (Anthropic); reasoning as
 * `reasoning_content` (DeepSeek, vLLM), `reasoning` (OpenRouter, vLLM), `thinking` (Anthropic), and in parts inside
 * `reasoning_details` (OpenRouter). Some servers send the same reasoning under two names; it counts once.
 */
const NAMES = countedNames(
  [
    ['content', 'refusal', 'arguments', 'text', 'partial_json', 'transcript'],
    ['finish_reason', 'stop_reason'],
    ['reasoning_content'],
    ['reasoning'],
    ['thinking'],
  ],
  { name: 'reasoning_details', names: ['text', 'summary'] },
)
const TEXT = 0
const FINISH_REASON = 1
const FIRST_REASONING = 2

/** A scanner for answers, which measures the text that the model has written. */
export class AnswerScanner extends JsonScanner {
  readonly #counter: StringCounter

  constructor() {
    const counter = new StringCounter(NAMES)
    super(MAX_ANSWER_DEPTH, counter)
    this.#counter = counter
  }

  /** Bytes of text received so far. */
  get writtenBytes(): number {
    let reasoningBytes = 0
    for (let count = FIRST_REASONING; count < NAMES.counts; count++)
      reasoningBytes = Math.max(reasoningBytes, this.#counter.bytes(count))
    return this.#counter.bytes(TEXT) + reasoningBytes
  }

  /** A finish reason was found below the root's members. */
  get hasFinishReason(): boolean {
    return this.#counter.bytes(FINISH_REASON) > 0
  }
}

/** What a string below the root's members counts as. */
export type Counted = 'text' | 'reasoning' | 'finish_reason'

/** The counted strings of a valid JSON text, by the offset of their closing quote. */
export function countedStrings(bytes: Buffer, from: number, to: number): ReadonlyMap<number, Counted> {
  const recorder = new StringRecorder(NAMES)
  new JsonScanner(MAX_ANSWER_DEPTH, recorder).push(bytes, from, from, to)
  return recorder.found
}

class StringRecorder extends StringCounter {
  readonly found = new Map<number, Counted>()

  override onString(_bytes: number, end: number): void {
    const { count } = this
    this.found.set(end, count === TEXT ? 'text' : count === FINISH_REASON ? 'finish_reason' : 'reasoning')
  }
}
