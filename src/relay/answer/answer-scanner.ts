import { JsonScanner } from '../../base/json/scanner.ts'
import { countedNames, StringCounter } from '../../base/json/string-counter.ts'

/** Answers may be nested deeper than requests: what they hold is the upstream's to say, and costs a byte a level. */
export const MAX_ANSWER_DEPTH = 1_024

/**
 * The names under which models write, below the members of an answer's root: `content`, `refusal` and the `arguments`
 * of a tool call (OpenAI, vLLM), `text` and `partial_json` (Anthropic); reasoning as `reasoning_content` (DeepSeek,
 * vLLM), `reasoning` (OpenRouter, vLLM), `thinking` (Anthropic), and in parts inside `reasoning_details` (OpenRouter).
 * Servers that tell the same reasoning under two names mean it once.
 */
const NAMES = countedNames(
  [
    ['content', 'refusal', 'arguments', 'text', 'partial_json'],
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

/** A scanner for what an upstream answers, which knows what of it the model has written. */
export class AnswerScanner extends JsonScanner {
  readonly #counter: StringCounter

  constructor() {
    const counter = new StringCounter(NAMES)
    super(MAX_ANSWER_DEPTH, counter)
    this.#counter = counter
  }

  /** Bytes of text, as far as it has come. */
  get writtenBytes(): number {
    let reasoningBytes = 0
    for (let count = FIRST_REASONING; count < NAMES.counts; count++)
      reasoningBytes = Math.max(reasoningBytes, this.#counter.bytes(count))
    return this.#counter.bytes(TEXT) + reasoningBytes
  }

  /** It says below its root's members why the model has stopped. */
  get hasFinishReason(): boolean {
    return this.#counter.bytes(FINISH_REASON) > 0
  }
}
