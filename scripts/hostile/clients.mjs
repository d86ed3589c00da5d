/** The clients of the hostile proofs, each kind in a process of its own; on raw sockets, since they misbehave. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const CHAT = '/v1/chat/completions'

function request(secret, body) {
  const text = JSON.stringify(body)
  return (
    `POST ${CHAT} HTTP/1.1\r\nhost: gw\r\nauthorization: Bearer ${secret}\r\n` +
    `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
  )
}

function dial(port, options = {}) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...options })
  socket.on('error', () => undefined) // `close` follows
  return socket
}

const BODY = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hello. '.repeat(80) }] }

/**
 * Normal traffic: so many requests a second (0: as fast as `connections` allow), over connections that are kept. Tells
 * for each window how many were answered whole, and how long they took.
 */
export async function normal(send, { port, secret, connections, rate }) {
  const bytes = request(secret, BODY)
  const idle = []
  let taken = []
  let failed = 0
  const open = () => {
    const socket = dial(port)
    const state = { socket, startedMs: 0, seen: '' }
    socket.setEncoding('latin1').on('data', text => {
      state.seen += text
      const head = state.seen.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(state.seen)?.[1])
      if (head === -1 || state.seen.length < head + 4 + length) return
      if (state.seen.startsWith('HTTP/1.1 200')) taken.push(performance.now() - state.startedMs)
      else failed++
      state.seen = ''
      if (rate === 0) go(state)
      else idle.push(state)
    })
    socket.on('close', () => {
      failed++
      setTimeout(open, 10)
    })
    socket.once('connect', () => (rate === 0 ? go(state) : idle.push(state)))
  }
  const go = state => {
    state.startedMs = performance.now()
    state.socket.write(bytes)
  }
  for (let count = 0; count < connections; count++) open()
  if (rate > 0) {
    let owed = 0
    let lastMs = performance.now()
    setInterval(() => {
      const nowMs = performance.now()
      owed += ((nowMs - lastMs) * rate) / 1_000
      lastMs = nowMs
      for (; owed >= 1; owed--) {
        const state = idle.shift()
        if (!state) continue // later than asked for: it is missing in the goodput
        if (state.socket.destroyed) continue
        go(state)
      }
    }, 5)
  }
  process.on('message', () => {
    const sorted = taken.sort((a, b) => a - b)
    const at = share => sorted[Math.floor(sorted.length * share)] ?? 0
    send({ answered: sorted.length, failed, p50Ms: at(0.5), p99Ms: at(0.99) })
    taken = []
    failed = 0
  })
  send({})
}

/** Holds so many connections by dribbling heads that never end; opens another for each that is taken from it. */
export async function slowloris(send, { port, sockets, everyMs }) {
  let open = 0
  let lost = 0
  let ending = false
  const all = new Set()
  const start = () => {
    const socket = dial(port)
    all.add(socket)
    socket.once('connect', () => {
      open++
      socket.write(`POST ${CHAT} HTTP/1.1\r\nhost: gw\r\n`)
    })
    const drip = setInterval(() => socket.write(`x-${performance.now()}: y\r\n`), everyMs)
    socket.resume().once('close', () => {
      clearInterval(drip)
      all.delete(socket)
      open--
      lost++
      if (!ending) setTimeout(start, Math.random() * 1_000)
    })
  }
  for (let count = 0; count < sockets; count++) {
    start()
    if (count % 250 === 249) await pause(20)
  }
  process.on('message', message => {
    if (message === 'end') {
      ending = true
      for (const socket of all) socket.destroy()
    }
    send({ open, lost })
  })
  send({})
}

/** Reads large streams at a kilobyte a second. */
export async function slowReaders(send, { port, secret, readers, bytes }) {
  let read = 0
  let closed = 0
  const buffer = Buffer.alloc(1_024)
  for (let count = 0; count < readers; count++) {
    const socket = dial(port, {
      onread: {
        buffer,
        callback(length) {
          read += length
          setTimeout(() => socket.resume(), 1_000)
          return false
        },
      },
    })
    socket.once('close', () => closed++)
    socket.once('connect', () =>
      socket.write(request(secret, { ...BODY, stream: true, user: `flood ${bytes}` })),
    )
  }
  process.on('message', () => send({ read, closed }))
  send({})
}

/** Opens paced streams and checks each event: its number, and how old it is. */
export async function streams(send, { port, secret, path = CHAT, count, events, everyMs }) {
  const delaysUs = []
  let opened = 0
  let whole = 0
  let wrong = 0
  const bytes = request(secret, { ...BODY, stream: true, user: `paced ${events} ${everyMs}` }).replace(
    CHAT,
    path,
  )
  const start = () => {
    const socket = dial(port)
    let rest = ''
    let next = 0
    let isOpen = false
    socket.once('connect', () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', text => {
      const now = process.hrtime.bigint()
      if (!isOpen) opened++
      isOpen = true
      rest += text
      for (const [, number, stamp] of rest.matchAll(/"content":"#(\d+) (\d+)"/g)) {
        if (Number(number) !== next++) wrong++
        delaysUs.push(Number(now - BigInt(stamp)) / 1_000)
      }
      if (rest.includes('[DONE]\n\n')) {
        if (next === events) whole++
        else wrong++
        socket.destroy()
      }
      rest = rest.slice(Math.max(rest.lastIndexOf('\n\n'), 0))
    })
    socket.once('close', () => {
      if (next < events) wrong++
    })
  }
  process.on('message', () => {
    const sorted = delaysUs.sort((a, b) => a - b)
    const at = share => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
    send({ opened, whole, wrong, events: sorted.length, p50Us: at(0.5), p99Us: at(0.99), maxUs: at(0.9999) })
  })
  for (let index = 0; index < count; index++) {
    start()
    if (index % 100 === 99) await pause(25)
  }
  send({})
  await once(process, 'disconnect')
}
