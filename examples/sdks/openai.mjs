import OpenAI from 'openai'

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.KEY })
const messages = [{ role: 'user', content: 'Hello!' }]

const answer = await client.chat.completions.create({ model: 'chat', messages })
console.log('openai:', answer.model, '·', answer.choices[0].message.content)

const stream = await client.chat.completions.create({ model: 'chat', messages, stream: true })
let text = ''
for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
console.log('openai, streamed:', text)
