const REQUEST_ID = /^req_[0-9a-f]{24}$/
const ID_BYTES = 12

/**
 * A request id as stored: the digits of an id of this gateway as 12 bytes; any other id as its text, with zeros after it, so that it is
 * longer.
 */
export function toRequestBytes(id: string): Buffer {
  if (REQUEST_ID.test(id)) return Buffer.from(id.slice(4), 'hex')
  const text = Buffer.from(id)
  return Buffer.concat([text, Buffer.alloc(Math.max(1, ID_BYTES + 1 - text.length))])
}

/** An expression for the request id of a row. */
export function requestIdOf(column: string): string {
  return `case when length(${column}) = ${ID_BYTES} then 'req_' || encode(${column}, 'hex')
    else convert_from(rtrim(${column}, '\\x00'::bytea), 'UTF8') end`
}
