import { type Fields, isFields } from './answer.ts'
import type { Conversation } from './conversation.ts'

export interface ToolCall {
  readonly name: string
  readonly input: Fields
}

interface Offered {
  readonly name: string
  readonly schema: unknown
}

/**
 * The tool call that a request asks for, if any:
 *
 * - `tool_choice` forces one: `required`, or a named function; Anthropic's `any`, or `tool` with its name;
 * - else the newest text of the user contains the name of an offered tool, such as "please call get_weather".
 *
 * Never with `tool_choice` `none`, and never right after a tool's result, so that an agent's loop ends.
 */
export function toolCallFor(body: Fields, conversation: Conversation): ToolCall | undefined {
  const offered = readTools(body['tools'])
  const choice = readChoice(body['tool_choice'])
  if (choice === 'none' || conversation.toolResult !== undefined) return undefined
  const text = conversation.userText.toLowerCase()
  const tool = offered.find(({ name }) => {
    if (choice === 'any') return true
    return choice === undefined ? text.includes(name.toLowerCase()) : choice.name === name
  })
  if (tool === undefined) return undefined
  const input = sample(tool.schema, conversation.userText)
  return { name: tool.name, input: isFields(input) ? input : {} }
}

/** OpenAI wraps a tool in `function`, with its schema in `parameters`; Anthropic calls that `input_schema`. */
function readTools(tools: unknown): Offered[] {
  if (!Array.isArray(tools)) return []
  return tools.filter(isFields).flatMap(tool => {
    const inner = isFields(tool['function']) ? tool['function'] : tool
    const name = inner['name']
    return typeof name === 'string' ? [{ name, schema: inner['parameters'] ?? inner['input_schema'] }] : []
  })
}

function readChoice(choice: unknown): 'none' | 'any' | { readonly name: unknown } | undefined {
  if (choice === 'none' || choice === 'required') return choice === 'none' ? 'none' : 'any'
  if (!isFields(choice)) return undefined
  if (choice['type'] === 'none' || choice['type'] === 'any') return choice['type']
  if (choice['type'] === 'tool') return { name: choice['name'] }
  if (choice['type'] === 'function')
    return isFields(choice['function']) ? { name: choice['function']['name'] } : { name: choice['name'] }
  return undefined
}

/** A value that a JSON Schema allows, for the simple schemas of tools; texts echo the user. */
function sample(schema: unknown, text: string): unknown {
  if (!isFields(schema)) return text
  const { const: only, default: preset, enum: values, examples } = schema
  if (only !== undefined) return only
  if (preset !== undefined) return preset
  for (const list of [values, examples]) if (Array.isArray(list) && list.length > 0) return list[0]
  switch (Array.isArray(schema['type']) ? schema['type'][0] : schema['type']) {
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return [sample(schema['items'], text)]
    case 'string':
      return text
    default: {
      const properties = isFields(schema['properties']) ? Object.entries(schema['properties']) : []
      return Object.fromEntries(properties.map(([name, property]) => [name, sample(property, text)]))
    }
  }
}

/** Splits the JSON of a tool's input for streaming; joined they equal the JSON. */
export function fragments(input: Fields): string[] {
  return JSON.stringify(input).match(/.{1,12}/gsu) ?? []
}
