import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface CertificateShape {
  /** DNS names and IPv4 addresses; the first is the common name. */
  readonly names: readonly string[]
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** Default: signed by itself. */
  readonly issuer?: Certificate
  /** Whether it may sign others. */
  readonly isAuthority?: boolean
}

export interface Certificate {
  /** PEM, for `tls.createServer` and `ca`. */
  readonly cert: string
  readonly key: string
  readonly name: Buffer
  readonly privateKey: KeyObject
}

const DAY_MS = 86_400_000
const OID = {
  ecdsaWithSha256: '06082a8648ce3d040302',
  commonName: '0603550403',
  subjectAltName: '0603551d11',
  basicConstraints: '0603551d13',
} as const

const TRUE = Buffer.from('0101ff', 'hex')

/**
 * A certificate (X.509 v3, P-256) made on the spot, so that no private key lies in the repository and none of them
 * expires while it does.
 */
export function certificate(shape: CertificateShape): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const now = Date.now()
  const [first = ''] = shape.names
  const name = sequence(der(0x31, sequence(hex(OID.commonName), der(0x0c, Buffer.from(first)))))
  const algorithm = sequence(hex(OID.ecdsaWithSha256))
  const altNames = der(0x04, sequence(...shape.names.map(altName)))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    algorithm,
    shape.issuer?.name ?? name,
    sequence(time(shape.notBefore ?? new Date(now - DAY_MS)), time(shape.notAfter ?? new Date(now + DAY_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        sequence(hex(OID.subjectAltName), altNames),
        ...(shape.isAuthority ? [sequence(hex(OID.basicConstraints), TRUE, der(0x04, sequence(TRUE)))] : []),
      ),
    ),
  )
  const signature = sign('sha256', body, shape.issuer?.privateKey ?? privateKey)
  const whole = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.of(0), signature])))
  const base64 = whole.toString('base64').replaceAll(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  }
}

function altName(name: string): Buffer {
  const isAddress = /^[\d.]+$/.test(name)
  return isAddress ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))
}

function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x18, Buffer.from(digits)) // GeneralizedTime
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

/** Tag, length, value (ITU-T X.690). */
function der(tag: number, value: Buffer): Buffer {
  const { length } = value
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), value])
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex')
}
