/**
 * The model server of the hostile proofs, in a process of its own. What it does stands in the body of a request,
 * in `user`:
 *
 *     (nothing)             a short answer in JSON
 *     flood BYTES           a stream of so many bytes, as fast as it is taken
 *     paced COUNT EVERY_MS  a stream of events, each with its number and the time at which it was written
 */
import { once } from 'node:events'
import { createServer } from 'node:http'

const TICK_MS = 50
const DONE = 'data: [DONE]\n\n'
const ANSWER = JSON.stringify({
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(40) } }],
  usage: { prompt_tokens: 100, completion_tokens: 40 },
})
const HEAD = { 'content-type': 'text/event-stream' }

/** Paced streams by the tick at which their next event is due. */
const due = new Map()
let tick = 0
let writtenBytes = 0

export async function run(send) {
  const server = createServer((req, res) => {
    const pieces = []
    req.on('data', piece => pieces.push(piece))
    req.on('end', () => {
      const { user = '' } = JSON.parse(Buffer.concat(pieces).toString())
      const [what, ...numbers] = user.trim().split(' ')
      if (what === 'flood') void flood(res, Number(numbers[0]))
      else if (what === 'paced') pace(res, Number(numbers[0]), Number(numbers[1]))
      else
        res
          .writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
          .end(ANSWER)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
  await once(server, 'listening')
  setInterval(beat, TICK_MS)
  send({ port: server.address().port })
  process.on('message', () => send({ writtenBytes }))
}

async function flood(res, bytes) {
  res.writeHead(200, HEAD)
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(16_000)}"}}]}\n\n`
  let goOn = () => undefined
  res.on('drain', () => goOn()).once('close', () => goOn())
  for (let sent = 0; sent < bytes && !res.destroyed; sent += event.length) {
    writtenBytes += event.length
    if (!res.write(event)) await new Promise(resolve => (goOn = resolve))
  }
  res.end(DONE)
}

/** All events of one tick are written from one timer: ten thousand timers would measure this process. */
function pace(res, count, everyMs) {
  res.writeHead(200, HEAD).flushHeaders()
  const every = Math.max(1, Math.round(everyMs / TICK_MS))
  later({ res, count, every, sent: 0 }, 1 + Math.floor(Math.random() * every))
}

function later(stream, ticks) {
  const at = tick + ticks
  const line = due.get(at) ?? []
  line.push(stream)
  due.set(at, line)
}

function beat() {
  tick++
  const line = due.get(tick) ?? []
  due.delete(tick)
  for (const stream of line) {
    const { res, count, every } = stream
    if (res.destroyed) continue
    const content = `#${stream.sent} ${process.hrtime.bigint()}`
    res.write(`data: ${JSON.stringify({ model: 'served', choices: [{ index: 0, delta: { content } }] })}\n\n`)
    stream.sent++
    if (stream.sent < count) later(stream, every)
    else res.end(DONE)
  }
}
