/** A name of a field whose value is taken for a secret, wherever it stands. */
export const SECRET_NAME = /(?:key|token)(?!s)|secret|passw|passphrase|pwd|credential|authorization|cookie/i

/** What gives itself away: vendors' keys, our own, bearer headers, users in URLs, signed queries. */
export const SECRET_SHAPES = [
  /(?<![A-Za-z0-9])(?:sk|pk|rk)-[A-Za-z0-9_-]{8,}/dg,
  /(?<![A-Za-z0-9])(?:gw|gsk|hf|glpat|gh[pousr]|github_pat|xox[abps])[_-][A-Za-z0-9_-]{12,}/dg,
  /(?<![A-Za-z0-9])(?:AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35})/dg,
  /(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/dg,
  /(?<=\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}/dgi,
  /(?<=:\/\/)[^\s/@"']+(?=@)/dg,
  /(?<=[?&][\w.-]*(?:key|token|secret|password|sig|signature)=)[^&\s"'#]+/dgi,
] as const

/** The text with everything that has the shape of a secret replaced by `…`. */
export function withoutSecrets(text: string): string {
  return SECRET_SHAPES.reduce((left, shape) => left.replace(shape, '…'), text)
}

/** The end of a header's name that says that its value opens something. */
const SECRET_HEADER =
  /(?:^|[-_.])(?:api-?key|key|token|secret|password|passwd|pwd|passphrase|credentials?|authorization|cookie)$/i
/** Known to be none. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set(['idempotency-key', 'x-idempotency-key'])
/** Nothing that is shorter protects anything; servers without keys are told `none` or `EMPTY`. */
const SHORTEST = 8
/** Of letters in both cases and digits, without a word in between: no name and no version looks so. */
const OPAQUE = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9+/_-]{40,}={0,2}$/

/** Whether a header's literal value must be taken for a secret. */
export function looksSecret(header: string, value: string): boolean {
  if (value.length < SHORTEST) return false
  if (OPAQUE.test(value) || SECRET_SHAPES.some(shape => value.search(shape) >= 0)) return true
  return SECRET_HEADER.test(header) && !PLAIN_HEADERS.has(header.toLowerCase())
}
