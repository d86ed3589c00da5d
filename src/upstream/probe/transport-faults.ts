import { parseProxy } from '../../base/proxies.ts'
import type { Diagnosis, ProbeFault } from '../probe.ts'
import { ProxyError } from '../proxy.ts'
import type { Upstream } from '../types.ts'
import type { Failure } from './ask.ts'

/** The diagnosis of a request without an answer. */
export function transportDiagnosis(failure: Failure, upstream: Upstream): Diagnosis {
  const url = new URL(upstream.origin)
  const at = url.host
  const { error } = failure
  const ofProxy = proxyDiagnosis(failure, upstream)
  if (ofProxy) return ofProxy
  if (error === undefined) return slow(failure, at)
  const code = errorCode(error)
  // In TLS 1.3 the server looks at a client certificate after the handshake.
  if (CLIENT_CERTIFICATE.test(code)) return clientCertificate(code, at, upstream.tls?.cert !== undefined)
  if (failure.phase === 'securing') return tls(error, code, at)
  const diagnosis = SYSTEM[code]
  if (diagnosis) return diagnosis({ at, name: url.hostname, code })
  // undici gives its parser's errors no code, only a name.
  if (error.name === 'HTTPParserError') {
    return {
      fault: 'broken',
      cause: `${at} does not answer in HTTP.`,
      hint:
        url.protocol === 'http:'
          ? 'Correct the port in `base_url`, or write https:// if that port uses TLS.'
          : 'Correct the port in `base_url`.',
    }
  }
  return {
    fault: 'broken',
    cause: `${at} broke off before its answer was complete${code === '' ? '' : ` (${code})`}.`,
    hint: 'See the log of the model server; does an HTTP API listen on that port?',
  }
}

/** The diagnosis of a failure to connect to the proxy, or through it. */
function proxyDiagnosis({ error, phase, timeoutMs }: Failure, { proxy }: Upstream): Diagnosis | undefined {
  const parsed = proxy === undefined ? undefined : parseProxy(proxy)
  if (!parsed) return undefined
  const at = new URL(parsed.origin).host
  const hint =
    'Correct `proxy` of the endpoint, or HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment; `proxy: none` goes without one.'
  if (error instanceof ProxyError) {
    const detail = error.message.replace(/^the proxy /, '')
    return { fault: 'proxy', cause: `The proxy ${at} opens no tunnel: ${detail}.`, hint }
  }
  if (error !== undefined || (phase !== 'resolving' && phase !== 'connecting')) return undefined
  return { fault: 'proxy', cause: `The proxy ${at} opens no connection within ${timeoutMs / 1000} s.`, hint }
}

interface TransportFault {
  readonly at: string
  readonly name: string
  readonly code: string
}

const unreachable = ({ at, code }: TransportFault): Diagnosis => ({
  fault: 'unreachable',
  cause: `There is no route to ${at} (${code}).`,
  hint: 'Correct the host in `base_url`, or the network and firewalls in between.',
})
const unresolved = ({ name, code }: TransportFault): Diagnosis => ({
  fault: 'dns',
  cause: `The name ${name} does not resolve (${code}).`,
  hint: 'Correct the host in `base_url`, or the DNS of this machine.',
})
const broken = ({ at, code }: TransportFault): Diagnosis => ({
  fault: 'broken',
  cause: `${at} closed the connection without an answer (${code}).`,
  hint: 'See the log of the model server; does that port speak HTTP, or does `base_url` need https://?',
})

const SYSTEM: Readonly<Record<string, (fault: TransportFault) => Diagnosis>> = {
  ENOTFOUND: unresolved,
  ENODATA: unresolved,
  EAI_AGAIN: ({ name, code }) => ({
    fault: 'dns',
    cause: `No name server answers for ${name} (${code}).`,
    hint: 'Correct the DNS of this machine, or the host in `base_url`.',
  }),
  ELINKLOCAL: ({ name }) => ({
    fault: 'link_local',
    cause: `The name ${name} resolves to a cloud metadata address, which serves credentials.`,
    hint: 'Point the name, or `base_url`, to the model server: gw never connects to such addresses.',
  }),
  ECONNREFUSED: ({ at, code }) => ({
    fault: 'rejected',
    cause: `Nothing listens at ${at} (${code}).`,
    hint: 'Start the model server, or correct host and port in `base_url`.',
  }),
  ETIMEDOUT: ({ at, code }) => ({
    fault: 'connect_timeout',
    cause: `${at} does not accept the connection (${code}).`,
    hint: 'Correct host and port in `base_url`, or the firewalls in between.',
  }),
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  EADDRNOTAVAIL: unreachable,
  EACCES: unreachable,
  EPERM: unreachable,
  UND_ERR_SOCKET: broken,
  ECONNRESET: broken,
  EPIPE: broken,
}

function slow({ phase, timeoutMs }: Failure, at: string): Diagnosis {
  const within = `within ${timeoutMs / 1000} s`
  const diagnosis = (fault: ProbeFault, cause: string, hint: string): Diagnosis => ({ fault, cause, hint })
  switch (phase) {
    case 'resolving':
      return diagnosis(
        'dns',
        `The DNS returned no address for ${at} ${within}.`,
        'Correct the DNS of this machine.',
      )
    case 'connecting':
      return diagnosis(
        'connect_timeout',
        `${at} does not accept the connection ${within}.`,
        'Correct host and port in `base_url`, or the firewalls in between.',
      )
    case 'securing':
      return diagnosis(
        'connect_timeout',
        `${at} accepts the connection, but does not complete the TLS handshake ${within}.`,
        'Correct the port in `base_url`; does it use TLS?',
      )
    case 'waiting':
      return diagnosis(
        'first_byte_timeout',
        `${at} received the request, but did not begin to answer ${within}.`,
        'Check whether the model server is still loading the model; a longer --timeout waits for it.',
      )
    case 'reading':
      return diagnosis(
        'stalled',
        `${at} began to answer, but did not finish ${within}.`,
        'See the log of the model server; a longer --timeout waits for it.',
      )
  }
}

/** The alerts of a server that misses a client certificate, or rejects it (RFC 8446 §6.2). */
const CLIENT_CERTIFICATE =
  /ALERT_(?:CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_REVOKED|CERTIFICATE_EXPIRED|CERTIFICATE_UNKNOWN|UNKNOWN_CA|ACCESS_DENIED)$/

/** @param code the alert, or the status of the answer. */
export function clientCertificate(code: string, at: string, hasOne: boolean): Diagnosis {
  return hasOne
    ? {
        fault: 'tls',
        cause: `${at} rejects the client certificate (${code}).`,
        hint: 'Correct `tls.cert`: has it expired, does it include its chain, and does that server trust its authority?',
      }
    : {
        fault: 'tls',
        cause: `${at} requires a client certificate (${code}).`,
        hint: 'Set `tls.cert` and `tls.key`, as `{ file: /path.pem }` or `{ env: NAME }`.',
      }
}

const UNKNOWN_ISSUER = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

function tls(error: Error, code: string, at: string): Diagnosis {
  const diagnosis = (cause: string, hint: string): Diagnosis => ({ fault: 'tls', cause, hint })
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const problem = code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'
    return diagnosis(
      `The certificate of ${at} ${problem}.`,
      'Renew it there; if it is valid, correct the clock of this machine.',
    )
  }
  if (UNKNOWN_ISSUER.has(code)) {
    const problem = code.includes('SELF_SIGNED')
      ? 'is self-signed'
      : 'is signed by an authority that this machine does not trust'
    return diagnosis(
      `The certificate of ${at} ${problem} (${code}).`,
      'Set `tls.ca` to a file with the certificate of that authority, start gw with NODE_EXTRA_CA_CERTS=/path/to/authority.pem, or give the server a certificate of a public authority.',
    )
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return diagnosis(
      `The certificate of ${at} is for other names${namesIn(error)}.`,
      'Write a name of the certificate into `base_url`, or give the server one for this name.',
    )
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return diagnosis(
      `${at} does not speak TLS correctly (${code}).`,
      'Write http:// in `base_url` if that port does not use TLS, or correct the port.',
    )
  }
  return diagnosis(
    `No TLS connection to ${at} could be established${code === '' ? '' : ` (${code})`}.`,
    'Correct the port in `base_url`: does it use TLS? If it does, see the log of the model server.',
  )
}

/** The first names in a certificate. */
function namesIn(error: Error): string {
  const cert = 'cert' in error ? error.cert : undefined
  if (typeof cert !== 'object' || cert === null || !('subjectaltname' in cert)) return ''
  if (typeof cert.subjectaltname !== 'string') return ''
  const names = cert.subjectaltname
    .split(', ')
    .map(entry => entry.replace(/^(?:DNS|IP Address):/, ''))
    .filter(entry => /^[\w.*:-]{1,100}$/.test(entry))
  return names.length === 0 ? '' : `: ${names.slice(0, 3).join(', ')}`
}

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
