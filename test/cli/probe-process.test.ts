import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { silence } from '../support/answers.ts'
import { type Certificate, certificate } from '../support/certificate.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { gwProcess } from './process.ts'

const endpoint = (name: string, url: string) =>
  `  ${name}: { protocol: openai, base_url: "${url}/v1", served_model: m }\n`

test('trusts the authorities of NODE_EXTRA_CA_CERTS, and names those of a certificate for another host', async () => {
  const authority = certificate({ names: ['Test authority'], isAuthority: true })
  const right = await tlsServer(certificate({ names: ['127.0.0.1'], issuer: authority }))
  const wrong = await tlsServer(certificate({ names: ['models.test', '10.0.0.7'], issuer: authority }))
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', `version: 1\nendpoints:\n${endpoint('right', right)}${endpoint('wrong', wrong)}`)
  const environment = { NODE_EXTRA_CA_CERTS: dir.write('ca.pem', authority.cert) }
  const { exit, stdout } = await gwProcess(['probe', '-c', 'gw.yaml', '--format', 'json'], {
    cwd: dir.path,
    environment,
  })
  expect(exit).toBe(5)
  expect(JSON.parse(stdout).probes).toMatchObject([
    { endpoint: 'right', state: 'ok' },
    {
      endpoint: 'wrong',
      fault: 'tls',
      cause: expect.stringContaining('is for other names: models.test, 10.0.0.7.'),
    },
  ])
})

test('ends by itself when its time is over, with all that still hung', async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(silence)
  const dir = tempDir(onTestFinished)
  // TEST-NET-1 (RFC 5737): it takes no connection, or has no route.
  const far = endpoint('far', 'http://192.0.2.1:81')
  dir.write('gw.yaml', `version: 1\nendpoints:\n${far}${endpoint('silent', upstream.url)}`)
  const { exit, stdout } = await gwProcess(
    ['probe', '-c', 'gw.yaml', '--format', 'json', '--timeout', '500ms'],
    { cwd: dir.path },
  )
  expect(exit).toBe(5)
  expect(JSON.parse(stdout).probes).toMatchObject([
    {
      endpoint: 'far',
      state: 'failed',
      fault: expect.stringMatching(/^(?:connect_timeout|unreachable|rejected)$/),
    },
    { endpoint: 'silent', state: 'failed', fault: 'first_byte_timeout' },
  ])
}, 15_000)

async function tlsServer({ cert, key }: Certificate): Promise<string> {
  const body = '{"choices":[]}'
  const server = createServer({ cert, key }, socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    })
  }).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => undefined)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}
