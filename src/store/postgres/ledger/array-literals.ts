/**
 * Columns of a batch as array literals of PostgreSQL, one text for each: `unnest` makes rows of them. Cheaper than the
 * general conversion of `pg`, which looks at the type of every value.
 */

export function numberArray(values: readonly (number | bigint | null)[]): string {
  return `{${values.map(value => value ?? 'NULL').join(',')}}`
}

export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map(value => (value === null ? 'NULL' : quoted(value))).join(',')}}`
}

export function bytesArray(values: readonly Uint8Array[]): string {
  return `{${values.map(value => `"\\\\x${Buffer.from(value).toString('hex')}"`).join(',')}}`
}

/** PostgreSQL has no zeros in texts. */
function quoted(text: string): string {
  return `"${text.replaceAll('\0', '').replaceAll(/["\\]/g, '\\$&')}"`
}
