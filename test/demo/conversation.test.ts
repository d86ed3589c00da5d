import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { pieces } from '../../src/demo/conversation.ts'
import { fragments, toolCallFor } from '../../src/demo/tool-call.ts'

const conversation = { userText: 'use Get_Weather for me', toolResult: undefined, inputTokens: 1 }
const weather = { type: 'function', function: { name: 'get_weather', parameters: {} } }
const other = { name: 'other', input_schema: { properties: { n: { type: 'number' } } } }

test('the pieces of any text are that text, and none is empty', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      expect(pieces(text).join('')).toBe(text)
      expect(pieces(text)).not.toContain('')
    }),
  )
})

test('the fragments of any input are its JSON', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), input => {
      expect(fragments(input).join('')).toBe(JSON.stringify(input))
    }),
  )
})

test('calls the tool that the user names, in any letter case', () => {
  expect(toolCallFor({ tools: [other, weather] }, conversation)?.name).toBe('get_weather')
  expect(toolCallFor({ tools: [other] }, conversation)).toBeUndefined()
  expect(toolCallFor({}, conversation)).toBeUndefined()
})

test.each([
  ['required', 'other'],
  [{ type: 'any' }, 'other'],
  [{ type: 'tool', name: 'get_weather' }, 'get_weather'],
  [{ type: 'function', function: { name: 'get_weather' } }, 'get_weather'],
  ['none', undefined],
  [{ type: 'none' }, undefined],
  ['auto', 'get_weather'],
  [{ type: 'auto' }, 'get_weather'],
])('obeys tool_choice %j', (choice, name) => {
  expect(toolCallFor({ tools: [other, weather], tool_choice: choice }, conversation)?.name).toBe(name)
})

test('calls no tool right after a result, so that an agent comes to its end', () => {
  const body = { tools: [weather], tool_choice: 'required' }
  expect(toolCallFor(body, { ...conversation, toolResult: 'rain' })).toBeUndefined()
})

test('fills in what the schema of a tool asks for', () => {
  const input_schema = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      unit: { enum: ['C', 'F'] },
      days: { type: ['integer', 'null'] },
      on: { type: 'boolean' },
      nothing: { type: 'null' },
      tags: { type: 'array', items: { const: 'x' } },
      inner: { properties: { deep: { default: 7 } } },
    },
  }
  const call = toolCallFor(
    { tools: [{ name: 't', input_schema }], tool_choice: { type: 'any' } },
    conversation,
  )
  expect(call?.input).toEqual({
    text: conversation.userText,
    unit: 'C',
    days: 1,
    on: true,
    nothing: null,
    tags: ['x'],
    inner: { deep: 7 },
  })
})
