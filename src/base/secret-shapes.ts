/** Names of fields with values that are treated as secrets anywhere. */
export const SECRET_NAME = /(?:key|token)(?!s)|secret|passw|passphrase|pwd|credential|authorization|cookie/i

/** Recognizable secrets: keys of vendors and of gw, bearer headers, users in URLs, signed queries. */
export const SECRET_SHAPES = [
  /(?<![A-Za-z0-9])(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}/dg,
  /(?<![A-Za-z0-9])(?:gw|gsk|hf|glpat|gh[pousr]|github_pat|xox[abps])[_-][A-Za-z0-9_-]{12,}/dg,
  /(?<![A-Za-z0-9])(?:AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35})/dg,
  /(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/dg,
  /(?<=\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}/dgi,
  /(?<=:\/\/)[^\s/@"']+(?=@)/dg,
  /(?<=[?&][\w.-]*(?:key|token|secret|password|sig|signature)=)[^&\s"'#]+/dgi,
] as const

/** The text with everything in the shape of a secret replaced by `…`. */
export function withoutSecrets(text: string): string {
  return SECRET_SHAPES.reduce((left, shape) => left.replace(shape, '…'), text)
}

/** Endings of header names with secret values. */
const SECRET_HEADER =
  /(?:^|[-_.])(?:api-?key|key|token|secret|password|passwd|pwd|passphrase|credentials?|authorization|cookie)$/i
/** Exceptions. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key'])
/** A shorter value protects nothing; for servers without keys people write `none` or `EMPTY`. */
const MIN_LENGTH = 8
/** Upper-case, lower-case and digits without separators: no name or version looks like that. */
const OPAQUE = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/_-]{40,}={0,2}$/

/** Whether a header's literal value must be treated as a secret. */
export function isSecretHeader(header: string, value: string): boolean {
  if (value.length < MIN_LENGTH) return false
  if (OPAQUE.test(value) || SECRET_SHAPES.some(shape => value.search(shape) >= 0)) return true
  return SECRET_HEADER.test(header) && !PLAIN_HEADERS.has(header.toLowerCase())
}
