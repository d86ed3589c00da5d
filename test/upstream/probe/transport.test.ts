import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { tlsMaterial } from '../../../src/base/tls-material.ts'
import type { Lookup } from '../../../src/upstream/lookup.ts'
import { httpProbe } from '../../../src/upstream/probe/http-probe.ts'
import { transportDiagnosis } from '../../../src/upstream/probe/transport-faults.ts'
import { bytes, reply, reset, silence } from '../../support/answers.ts'
import { certificate } from '../../support/certificate.ts'
import { forwardProxy } from '../../support/forward-proxy.ts'
import { type Answer, scriptedUpstream } from '../../support/scripted-upstream.ts'
import { secureUpstream } from '../../support/secure-upstream.ts'
import { testClock } from '../../support/test-clock.ts'
import { chat, diagnosed, OPENAI_CHAT, target } from './targets.ts'

describe('the way to the upstream', () => {
  test('a name that does not resolve', async () => {
    const nowhere: Lookup = (hostname, _options, done) =>
      done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), '')
    expect(await diagnosed(chat(target('http://nowhere.test/v1'), { lookup: nowhere }))).toEqual({
      fault: 'dns',
      cause: 'The name nowhere.test does not resolve (ENOTFOUND).',
      hint: 'Correct the host in `base_url`, or the DNS of this machine.',
    })
  })

  test('a name that leads to where clouds serve their credentials is never connected to', async () => {
    const metadata: Lookup = (_hostname, _options, done) =>
      done(null, [{ address: '169.254.169.254', family: 4 }])
    expect(await diagnosed(chat(target('http://sneaky.test/v1'), { lookup: metadata }))).toMatchObject({
      fault: 'link_local',
      cause: expect.stringContaining('sneaky.test resolves to a cloud metadata address'),
    })
  })

  test('a port at which nothing listens', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    const { url, port } = upstream
    await upstream.close()
    expect(await diagnosed(chat(target(`${url}/v1`)))).toEqual({
      fault: 'rejected',
      cause: `Nothing listens at 127.0.0.1:${port} (ECONNREFUSED).`,
      hint: 'Start the model server, or correct host and port in `base_url`.',
    })
  })
})

describe('time', () => {
  test('a name server that keeps silent ends with the deadline', async () => {
    const clock = testClock()
    const outcome = chat(target('http://slow.test/v1'), { clock, lookup: () => undefined }, 4_000)
    await clock.waiting()
    clock.advance(4_000)
    expect(await diagnosed(outcome)).toMatchObject({
      fault: 'dns',
      cause: expect.stringMatching(/within 4 s\.$/),
    })
    expect(clock.pending).toBe(0)
  })

  test('a host that takes no connection ends with the endpoint’s own timeout where that is shorter', async () => {
    const clock = testClock()
    let answer: () => void = () => undefined
    const lookedUp = new Promise<void>(resolve => {
      answer = resolve
    })
    // An address of TEST-NET-1 (RFC 5737): a connection to it is neither taken nor rejected, or has no route.
    const lookup: Lookup = (_hostname, _options, done) => {
      done(null, [{ address: '192.0.2.1', family: 4 }])
      answer()
    }
    const outcome = chat(target('http://far.test:81/v1', { connectMs: 2_000 }), { clock, lookup })
    await lookedUp
    clock.advance(2_000)
    expect(['connect_timeout', 'unreachable']).toContain((await diagnosed(outcome)).fault)
  })

  test('TLS that never stands', async () => {
    const clock = testClock()
    const { port, taken } = await server(() => undefined)
    const outcome = chat(target(`https://127.0.0.1:${port}/v1`), { clock }, 3_000)
    const socket = await taken
    await once(socket, 'data') // the ClientHello
    clock.advance(3_000)
    expect(await diagnosed(outcome)).toMatchObject({
      fault: 'connect_timeout',
      cause: `127.0.0.1:${port} accepts the connection, but does not complete the TLS handshake within 3 s.`,
    })
  })

  test.each<[string, Answer]>([
    ['silence', silence],
    ['a head that never ends', bytes('HTTP/1.1 200 OK\r\nx: ', 'hang')],
    ['interim answers without an end', bytes('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', 'hang')],
  ])('%s in place of an answer', async (_title, answer) => {
    const clock = testClock()
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(answer)
    const outcome = chat(target(`${upstream.url}/v1`), { clock }, 7_000)
    const request = await upstream.nextRequest()
    await request.received
    clock.advance(7_000)
    expect(await diagnosed(outcome)).toEqual({
      fault: 'first_byte_timeout',
      cause: `127.0.0.1:${upstream.port} received the request, but did not begin to answer within 7 s.`,
      hint: 'Check whether the model server is still loading the model; a longer --timeout waits for it.',
    })
    await request.gone
    expect(clock.pending).toBe(0)
  })

  test('an answer that begins and stalls', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(bytes('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{', 'hang'))
    expect(await diagnosed(chat(target(`${upstream.url}/v1`), {}, 500))).toEqual({
      fault: 'stalled',
      cause: `127.0.0.1:${upstream.port} began to answer, but did not finish within 0.5 s.`,
      hint: 'See the log of the model server; a longer --timeout waits for it.',
    })
    await upstream.lastRequest.gone
  })

  test('a signal ends it at once', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(silence)
    const controller = new AbortController()
    const outcome = httpProbe({ clock: testClock() }).chat(target(`${upstream.url}/v1`), {
      timeoutMs: 60_000,
      signal: controller.signal,
    })
    const request = await upstream.nextRequest()
    controller.abort()
    expect(await outcome).toMatchObject({ ok: false })
    await request.gone
  })
})

describe('a conversation that breaks', () => {
  test.each<[string, Answer]>([
    ['a reset', reset],
    ['an end without a byte', bytes('')],
    ['something that is not HTTP', bytes('220 smtp.example ESMTP\r\n')],
    ['a status that there is not', bytes('HTTP/1.1 099 What\r\ncontent-length: 0\r\n\r\n')],
    ['a body that is cut', reply({ body: ['{"choices'], framing: 'chunked', ending: 'cut' })],
    ['two lengths', bytes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')],
  ])('%s is reported as broken, with what to look at', async (_title, answer) => {
    const upstream = await scriptedUpstream(onTestFinished)
    upstream.answer(answer)
    expect(await diagnosed(chat(target(`${upstream.url}/v1`)))).toMatchObject({
      fault: 'broken',
      cause: expect.stringContaining(`127.0.0.1:${upstream.port}`),
    })
  })

  test('never more than 1 MiB of an answer is read', async () => {
    const upstream = await scriptedUpstream(onTestFinished)
    let writtenBytes = 0
    upstream.answer(async exchange => {
      await exchange.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n')
      const piece = Buffer.alloc(65_536, ' ')
      while (await exchange.write(piece)) writtenBytes += piece.length
    })
    expect(await diagnosed(chat(target(`${upstream.url}/v1`)))).toMatchObject({ fault: 'protocol' })
    // What lies in the buffers of both sockets was written as well.
    expect(writtenBytes).toBeLessThan(16 * 1_048_576)
  })
})

describe('TLS', () => {
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000)

  test.each([
    [
      'has expired',
      { names: ['127.0.0.1'], notBefore: day(-9), notAfter: day(-2) },
      /has expired\.$/,
      /Renew/,
    ],
    [
      'is not valid yet',
      { names: ['127.0.0.1'], notBefore: day(2), notAfter: day(9) },
      /not valid yet/,
      /clock/,
    ],
    ['signed itself', { names: ['127.0.0.1'] }, /is self-signed/, /NODE_EXTRA_CA_CERTS/],
    [
      'an unknown authority signed',
      { names: ['127.0.0.1'], issuer: certificate({ names: ['Some CA'], isAuthority: true }) },
      /is signed by an authority that this machine does not trust/,
      /NODE_EXTRA_CA_CERTS/,
    ],
  ])('a certificate that %s', async (_title, shape, cause, hint) => {
    const port = await tlsServer(certificate(shape))
    const url = `https://127.0.0.1:${port}/v1`
    const diagnosis = await diagnosed(chat(target(url)))
    expect(diagnosis).toMatchObject({ fault: 'tls', cause: expect.stringMatching(cause) })
    expect(diagnosis.hint).toMatch(hint)
  })

  test('a client certificate is sent, and its authority trusted, with a proxy and without', async () => {
    const upstream = await secureUpstream(onTestFinished, OPENAI_CHAT)
    const proxy = await forwardProxy(onTestFinished)
    const { cert, key } = certificate({ names: ['gw'], issuer: upstream.authority })
    const tls = tlsMaterial({ ca: upstream.authority.cert, cert, key })
    for (const more of [{}, { proxy: `http://127.0.0.1:${proxy.port}` }])
      expect(await chat(target(`${upstream.url}/v1`, { tls, ...more }))).toMatchObject({ ok: true })
    expect(upstream.clients).toEqual(['gw', 'gw'])
    expect(proxy.seen).toHaveLength(1)
  })

  test('a server that misses a client certificate, or rejects it', async () => {
    const upstream = await secureUpstream(onTestFinished, OPENAI_CHAT)
    const ca = upstream.authority.cert
    const without = tlsMaterial({ ca, cert: undefined, key: undefined })
    expect(await diagnosed(chat(target(`${upstream.url}/v1`, { tls: without })))).toMatchObject({
      fault: 'tls',
      cause: expect.stringMatching(/requires a client certificate/),
      hint: expect.stringContaining('`tls.cert` and `tls.key`'),
    })
    expect(upstream.clients).toEqual([])
    const { cert, key } = certificate({ names: ['another-host'] })
    const failure = {
      phase: 'waiting',
      error: Object.assign(new Error('alert'), { code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' }),
      latencyMs: 1,
      timeoutMs: 1,
    } as const
    const wrong = target(upstream.url, { tls: tlsMaterial({ ca, cert, key }) })
    expect(transportDiagnosis(failure, wrong)).toMatchObject({
      fault: 'tls',
      cause: expect.stringMatching(/rejects the client certificate/),
    })
  })

  test('only the authorities of `tls.ca` are trusted', async () => {
    const upstream = await secureUpstream(onTestFinished, OPENAI_CHAT)
    const ca = certificate({ names: ['Another'], isAuthority: true }).cert
    const tls = tlsMaterial({ ca, cert: undefined, key: undefined })
    expect(await diagnosed(chat(target(`${upstream.url}/v1`, { tls })))).toMatchObject({
      fault: 'tls',
      hint: expect.stringContaining('`tls.ca`'),
    })
  })

  test('a certificate that OpenSSL rejects, with a proxy and without', async () => {
    const upstream = await secureUpstream(onTestFinished, OPENAI_CHAT)
    const proxy = await forwardProxy(onTestFinished)
    const { cert } = certificate({ names: ['gw'], issuer: upstream.authority })
    const { key } = certificate({ names: ['other'] })
    const tls = tlsMaterial({ ca: undefined, cert, key })
    for (const more of [{}, { proxy: `http://127.0.0.1:${proxy.port}` }]) {
      const diagnosis = await diagnosed(chat(target(`${upstream.url}/v1`, { tls, ...more })))
      expect(diagnosis).toMatchObject({ fault: 'tls' })
      expect(JSON.stringify(diagnosis)).not.toContain('PRIVATE')
    }
  })

  test('a port that speaks no TLS', async () => {
    const { port } = await server(socket => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await diagnosed(chat(target(`https://127.0.0.1:${port}/v1`)))).toMatchObject({
      fault: 'tls',
      hint: expect.stringContaining('http://'),
    })
  })

  test('a port that hangs up on TLS', async () => {
    const { port } = await server(socket => void socket.once('data', () => socket.resetAndDestroy()))
    expect(await diagnosed(chat(target(`https://127.0.0.1:${port}/v1`)))).toMatchObject({
      fault: 'tls',
      cause: `No TLS connection to 127.0.0.1:${port} could be established (ECONNRESET).`,
    })
  })

  test('http:// to a port that answers with an alert of TLS, as some servers do', async () => {
    const alert = Buffer.from('15030300020216', 'hex')
    const { port } = await server(socket => void socket.once('data', () => socket.end(alert)))
    expect(await diagnosed(chat(target(`http://127.0.0.1:${port}/v1`)))).toMatchObject({
      fault: 'broken',
      cause: `127.0.0.1:${port} does not answer in HTTP.`,
      hint: expect.stringContaining('https://'),
    })
  })

  test('http:// to a port that speaks TLS', async () => {
    const port = await tlsServer(certificate({ names: ['127.0.0.1'] }))
    expect(await diagnosed(chat(target(`http://127.0.0.1:${port}/v1`)))).toMatchObject({
      fault: 'broken',
      hint: expect.stringContaining('https://'),
    })
  })
})

/** A server on a raw socket; `taken` gives its first connection. */
async function server(
  onConnection: (socket: Socket) => void,
): Promise<{ port: number; taken: Promise<Socket> }> {
  let take: (socket: Socket) => void = () => undefined
  const taken = new Promise<Socket>(resolve => {
    take = resolve
  })
  const listening = createServer(socket => {
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    onConnection(socket)
    take(socket)
  }).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => void listening.close())
  return { port: (listening.address() as AddressInfo).port, taken }
}

/** Answers every request with a chat, over TLS. */
async function tlsServer(options: Pick<TlsOptions, 'cert' | 'key'>): Promise<number> {
  const body = JSON.stringify(OPENAI_CHAT)
  const listening = createTlsServer({ cert: options.cert, key: options.key }, socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    })
  })
  listening.on('tlsClientError', () => undefined)
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => void listening.close())
  return (listening.address() as AddressInfo).port
}
