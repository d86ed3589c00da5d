import { parseProxy } from '../../base/proxies.ts'
import type { Diagnosis, ProbeFault } from '../probe.ts'
import { ProxyError } from '../proxy.ts'
import type { Upstream } from '../types.ts'
import type { Failure } from './ask.ts'

/** What a failure to connect or to be answered at all means, and what would hint it. */
export function transportDiagnosis(failure: Failure, upstream: Upstream): Diagnosis {
  const url = new URL(upstream.origin)
  const at = url.host
  const { error } = failure
  const by = proxyDiagnosis(failure, upstream)
  if (by) return by
  if (error === undefined) return slow(failure, at)
  const code = errorCode(error)
  // From here on the address is known and takes connections.
  if (failure.phase === 'securing') return tls(error, code, at)
  const known = SYSTEM[code]
  if (known) return known({ at, name: url.hostname, code })
  // undici gives its parser's errors no code, only a name.
  if (error.name === 'HTTPParserError') {
    return {
      fault: 'broken',
      cause: `${at} does not answer in HTTP.`,
      hint:
        url.protocol === 'http:'
          ? 'Mend the port in `base_url`, or write https:// if that port speaks TLS.'
          : 'Mend the port in `base_url`.',
    }
  }
  return {
    fault: 'broken',
    cause: `${at} broke off before its answer was complete${code === '' ? '' : ` (${code})`}.`,
    hint: 'Look into the log of the model server; is it an HTTP API that listens on that port?',
  }
}

/** What went wrong on the way to the upstream's proxy, or by its word. */
function proxyDiagnosis({ error, phase, timeoutMs }: Failure, { proxy }: Upstream): Diagnosis | undefined {
  const parsed = proxy === undefined ? undefined : parseProxy(proxy)
  if (!parsed) return undefined
  const at = new URL(parsed.origin).host
  const hint =
    'Correct `proxy` of the endpoint, or HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the environment; `proxy: none` goes without one.'
  if (error instanceof ProxyError) {
    const said = error.message.replace(/^the proxy /, '')
    return { fault: 'proxy', cause: `The proxy ${at} does not let through: ${said}.`, hint }
  }
  if (error !== undefined || (phase !== 'resolving' && phase !== 'connecting')) return undefined
  return { fault: 'proxy', cause: `The proxy ${at} gives no connection within ${timeoutMs / 1000} s.`, hint }
}

interface TransportFault {
  readonly at: string
  readonly name: string
  readonly code: string
}

const unreachable = ({ at, code }: TransportFault): Diagnosis => ({
  fault: 'unreachable',
  cause: `There is no way from here to ${at} (${code}).`,
  hint: 'Mend the host in `base_url`, or the network and firewalls in between.',
})
const unresolved = ({ name, code }: TransportFault): Diagnosis => ({
  fault: 'dns',
  cause: `The name ${name} does not resolve (${code}).`,
  hint: 'Mend the host in `base_url`, or the DNS of this machine.',
})
const broken = ({ at, code }: TransportFault): Diagnosis => ({
  fault: 'broken',
  cause: `${at} closed the connection without an answer (${code}).`,
  hint: 'Look into the log of the model server; does that port speak HTTP, or does `base_url` want https://?',
})

const SYSTEM: Readonly<Record<string, (told: TransportFault) => Diagnosis>> = {
  ENOTFOUND: unresolved,
  ENODATA: unresolved,
  EAI_AGAIN: ({ name, code }) => ({
    fault: 'dns',
    cause: `No name server could be asked for ${name} (${code}).`,
    hint: 'Mend the DNS of this machine, or the host in `base_url`.',
  }),
  ELINKLOCAL: ({ name }) => ({
    fault: 'link_local',
    cause: `The name ${name} leads to an address where clouds serve their credentials.`,
    hint: 'Point the name, or `base_url`, at the model server: gw never connects to such addresses.',
  }),
  ECONNREFUSED: ({ at, code }) => ({
    fault: 'rejected',
    cause: `Nothing listens at ${at} (${code}).`,
    hint: 'Start the model server, or hint host and port in `base_url`.',
  }),
  ETIMEDOUT: ({ at, code }) => ({
    fault: 'connect_timeout',
    cause: `${at} does not take the connection (${code}).`,
    hint: 'Mend host and port in `base_url`, or the firewalls in between.',
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
  const tell = (fault: ProbeFault, cause: string, hint: string): Diagnosis => ({ fault, cause, hint })
  switch (phase) {
    case 'resolving':
      return tell('dns', `The DNS gave no address for ${at} ${within}.`, 'Mend the DNS of this machine.')
    case 'connecting':
      return tell(
        'connect_timeout',
        `${at} does not take the connection ${within}.`,
        'Mend host and port in `base_url`, or the firewalls in between.',
      )
    case 'securing':
      return tell(
        'connect_timeout',
        `${at} takes the connection, but no TLS stands ${within}.`,
        'Mend the port in `base_url`; does it speak TLS?',
      )
    case 'waiting':
      return tell(
        'first_byte_timeout',
        `${at} took the request and did not begin to answer ${within}.`,
        'Look whether the model server still loads the model; a longer --timeout waits for it.',
      )
    case 'reading':
      return tell(
        'stalled',
        `${at} began to answer and did not end ${within}.`,
        'Look into the log of the model server; a longer --timeout waits for it.',
      )
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
  const tell = (cause: string, hint: string): Diagnosis => ({ fault: 'tls', cause, hint })
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const what = code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'
    return tell(
      `The certificate of ${at} ${what}.`,
      'Renew it there; if it is sound, hint the clock of this machine.',
    )
  }
  if (UNKNOWN_ISSUER.has(code)) {
    const who = code.includes('SELF_SIGNED') ? 'signed by itself' : 'signed by nobody whom this machine knows'
    return tell(
      `The certificate of ${at} is ${who} (${code}).`,
      'Start gw with NODE_EXTRA_CA_CERTS=/path/to/authority.pem, or give the server a certificate of a public authority.',
    )
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return tell(
      `The certificate of ${at} is for other names${namesIn(error)}.`,
      'Write a name of the certificate into `base_url`, or give the server one for this name.',
    )
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) {
    return tell(
      `${at} does not speak TLS as it should (${code}).`,
      'Write http:// in `base_url` if that port speaks no TLS, or hint the port.',
    )
  }
  return tell(
    `No TLS could be set up with ${at}${code === '' ? '' : ` (${code})`}.`,
    'Mend the port in `base_url`: does it speak TLS? If it does, look into the log of the model server.',
  )
}

/** The first names of a certificate that was meant for others. */
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
