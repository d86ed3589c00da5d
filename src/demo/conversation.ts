import { DemoFault, type Fields, isFields } from './answer.ts'

/** The part of a chat that the demo looks at, the same for both vendors. */
export interface Conversation {
  /** The newest text of the user; empty where there is none. */
  readonly userText: string
  /** What a tool gave back, where the newest message is such a result: then the turn is the model's again. */
  readonly toolResult: string | undefined
  readonly inputTokens: number
}

/** Reads `messages` (and Anthropic's `system`), whose contents are texts or lists of parts. */
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

/** What the demo says: it is an echo, and does not pretend to be more. */
export function echo(conversation: Conversation): string {
  if (conversation.toolResult !== undefined) return `The tool answered: ${conversation.toolResult}`
  if (conversation.userText === '') return 'You said nothing.'
  return `You said: ${conversation.userText}`
}

/** Cuts an answer to what its request allows: `limit` tokens of four characters. */
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

/** The pieces in which a text is streamed, about a word each; joined they are the text again. */
export function pieces(text: string): string[] {
  return text.match(/\s*\S{1,12}|\s+$/gu) ?? []
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return content.map(textOf).join('')
  if (!isFields(content)) return ''
  return typeof content['text'] === 'string' ? content['text'] : textOf(content['content'])
}

/** OpenAI gives a result in a message of role `tool`, Anthropic as a part of a user's message. */
function isToolResult(message: Fields): boolean {
  const content = message['content']
  if (message['role'] === 'tool') return true
  return Array.isArray(content) && content.some(part => isFields(part) && part['type'] === 'tool_result')
}
