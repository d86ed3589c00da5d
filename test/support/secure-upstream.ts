import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Certificate, certificate } from './certificate.ts'
import type { WhenOver } from './when-over.ts'

export interface SecureUpstream {
  readonly url: string
  readonly port: number
  /** The authority of its certificate and of those of its clients. */
  readonly authority: Certificate
  /** The common name of each client that has called, in order. */
  readonly clients: readonly string[]
  /** The number of connections that it has accepted. */
  readonly connections: () => number
}

/** An https server that demands a client certificate of its authority, and answers each call with `answer` as JSON. */
export async function secureUpstream(whenOver: WhenOver, answer: unknown): Promise<SecureUpstream> {
  const authority = certificate({ names: ['Test authority'], isAuthority: true })
  const { cert, key } = certificate({ names: ['127.0.0.1'], issuer: authority })
  const clients: string[] = []
  let connections = 0
  const options = { cert, key, ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  const server = createServer(options, (req, res) => {
    const { subject } = (req.socket as TLSSocket).getPeerCertificate()
    clients.push(String(subject.CN))
    req.resume()
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(answer))
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  whenOver(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `https://127.0.0.1:${port}`, port, authority, clients, connections: () => connections }
}
