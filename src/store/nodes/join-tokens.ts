import { type PlainSql, prepare } from '../engine.ts'
import type { JoinRejection } from './types.ts'

interface TokenRow {
  readonly id: string
  readonly pattern: string
  readonly labels: string
  readonly uses_left: number
  readonly expires_at_ms: number
}

/** The token of a digest, if a node of this name may use it now. */
export async function usableToken(
  raw: PlainSql,
  digest: string,
  node: string,
  nowMs: number,
): Promise<TokenRow | JoinRejection> {
  const row = await prepare<[string], TokenRow>(
    raw,
    'select id, pattern, labels, uses_left, expires_at_ms from node_join_tokens where digest = ?',
  ).get(digest)
  if (!row) return 'unknown_token'
  if (row.expires_at_ms <= nowMs) return 'expired_token'
  if (row.uses_left === 0) return 'used_token'
  return matches(row.pattern, node) ? row : 'other_name'
}

/** Whether a name matches a pattern, in which `*` matches any characters. */
export function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  const [first = '', ...rest] = parts
  if (rest.length === 0) return name === pattern
  const last = rest.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0 || found + part.length > name.length - last.length) return false
    at = found + part.length
  }
  return true
}
