import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

/** The PEM texts of a TLS client. */
export interface TlsPem {
  /** The authorities that it trusts, instead of those of the system. */
  readonly ca: string | undefined
  /** Its own certificate, first, and the chain to an authority. */
  readonly cert: string | undefined
  /** The private key of `cert`, not encrypted. */
  readonly key: string | undefined
}

export interface TlsMaterial extends TlsPem {
  /** Equal for equal texts; contains none of them. */
  readonly id: string
}

/** PKCS #8, and the older form of OpenSSL. */
const ENCRYPTED = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

export function tlsMaterial({ ca, cert, key }: TlsPem): TlsMaterial {
  const id = createHash('sha256')
    .update(JSON.stringify([ca, cert, key]))
    .digest('hex')
  return Object.freeze({ ca, cert, key, id })
}

/** Why the texts are unusable, each with its field; never quotes them. Empty: they are usable. */
export function tlsProblems({ ca, cert, key }: TlsPem): readonly string[] {
  const problems: string[] = []
  if (ca !== undefined && !certificatesIn(ca)) problems.push(`tls.ca ${NO_CERTIFICATE}`)
  const [own] = (cert === undefined ? undefined : certificatesIn(cert)) ?? []
  if (cert !== undefined && !own) problems.push(`tls.cert ${NO_CERTIFICATE}`)
  const secret = key === undefined ? undefined : privateKey(key)
  if (typeof secret === 'string') problems.push(`tls.key ${secret}`)
  else if (secret && own && !own.checkPrivateKey(secret))
    problems.push('tls.key is not the private key of the first certificate in tls.cert')
  return problems
}

const NO_CERTIFICATE = 'contains no valid certificate in PEM'

/** Undefined if there is none, or an invalid one among them. */
function certificatesIn(pem: string): readonly X509Certificate[] | undefined {
  const blocks = pem.match(CERTIFICATE)
  if (!blocks) return undefined
  try {
    return blocks.map(block => new X509Certificate(block))
  } catch {
    return undefined // the caller names the field
  }
}

/** The key, or why it is unusable. */
function privateKey(pem: string): KeyObject | string {
  if (ENCRYPTED.test(pem)) return 'is encrypted, and there is no passphrase'
  try {
    return createPrivateKey(pem)
  } catch {
    return 'contains no valid private key in PEM'
  }
}
