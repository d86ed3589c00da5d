/**
 * Whether every store can hold the text: PostgreSQL keeps no NUL, and queries fail on JSON with one; half of a surrogate pair is
 * no UTF-8.
 */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
