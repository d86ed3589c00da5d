import { DemoFault, type Fields, isFields } from './answer.ts'

/** The parts of a chat that the demo reads, the same for both vendors. */
export interface Conversation {
  /** The newest text of the user; empty if there is none. */
  readonly userText: string
  /** Present if the newest message is a tool result. */
  readonly toolResult: string | undefined
  readonly inputTokens: number
}

/** Reads `messages` (and Anthropic's `system`); contents are texts or lists of parts. */
export function readConversation(body: Fields): Conversation {
  const messages = body['messages']
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isFields)) {
    throw new DemoFault(400, "'messages' must be a list of at least one message", 'messages')
  }
  const newest = messages.at(-1)
  const all = [textOf(body['system']), ...messages.map(message => textOf(message['content']))]
  return {
    userText: textOf(
      messages.findLast(message => message['role'] === 'user' && !isToolResult(message))?.['content'],
    ),
    toolResult: newest && isToolResult(newest) ? textOf(newest['content']) : undefined,
    inputTokens: tokens(all.join('')),
  }
}

/** The answer of the demo: an echo. */
export function echo(conversation: Conversation): string {
  if (conversation.toolResult !== undefined) return `The tool answered: ${conversation.toolResult}`
  if (conversation.userText === '') return 'You said nothing.'
  return `You said: ${conversation.userText}`
}

/** Truncates an answer to `limit` tokens of four characters. */
export function cutToTokens(text: string, limit: unknown): { text: string; cut: boolean } {
  if (typeof limit !== 'number' || tokens(text) <= limit) return { text, cut: false }
  return {
    text: Array.from(text)
      .slice(0, limit * CHARACTERS_PER_TOKEN)
      .join(''),
    cut: true,
  }
}

const CHARACTERS_PER_TOKEN = 4

/** The rule of thumb of both vendors for English text: four characters (code points) a token; at least one. */
export function tokens(text: string): number {
  return Math.max(1, Math.ceil(Array.from(text).length / CHARACTERS_PER_TOKEN))
}

/** The `n` of a request; 1 without a valid one. */
export function answerCount(n: unknown): number {
  return typeof n === 'number' && Number.isInteger(n) && n > 0 && n <= 128 ? n : 1
}

/** A text, a list of texts, a list of token numbers, or a list of such lists. */
export function readTexts(value: unknown, name: string): string[] {
  if (typeof value === 'string') return [value]
  if (!Array.isArray(value) || value.length === 0)
    throw new DemoFault(400, `'${name}' must be a text, a list of texts or a list of tokens`, name)
  if (typeof value[0] === 'number') return [value.join(' ')]
  return value.map(item => (typeof item === 'string' ? item : JSON.stringify(item)))
}

/** Splits a text for streaming, about a word each; joined they equal the text. */
export function pieces(text: string): string[] {
  return text.match(/\s*\S{1,12}|\s+$/gu) ?? []
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).join('')
  if (!isFields(content)) return ''
  return typeof content['text'] === 'string' ? content['text'] : textOf(content['content'])
}

/** OpenAI sends a result as a message of role `tool`, Anthropic as a part of a user message. */
function isToolResult(message: Fields): boolean {
  const content = message['content']
  if (message['role'] === 'tool') return true
  return Array.isArray(content) && content.some(part => isFields(part) && part['type'] === 'tool_result')
}
