import Anthropic from '@anthropic-ai/sdk'

// Anthropic's SDK appends /v1/messages itself.
const client = new Anthropic({ baseURL: new URL(process.env.BASE_URL).origin, apiKey: process.env.KEY })
const request = { model: 'chat', max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] }

const answer = await client.messages.create(request)
console.log('anthropic:', answer.model, '·', answer.content[0].text)

const message = await client.messages.stream(request).finalMessage()
console.log('anthropic, streamed:', message.content[0].text)
