/** The bytes and states of JSON (RFC 8259) for {@link JsonScanner}. */

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null'

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const COMMA = 0x2c
export const COLON = 0x3a
export const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
export const ZERO = 0x30
export const NINE = 0x39
export const SPACE = 0x20

/**
 * The states of the scanner. The numeric states describe a partial number; states from `INTEGER_ZERO` on may end it.
 */
export const VALUE = 0
export const FIRST_NAME = 1
export const NAME = 2
export const NAME_END = 3
export const AFTER_VALUE = 4
export const FIRST_ITEM = 5
export const IN_STRING = 6
export const ESCAPE = 7
export const HEX = 8
export const LITERAL = 9
export const NUMBER_MINUS = 10
const NUMBER_DOT = 11
const NUMBER_EXPONENT = 12
const NUMBER_EXPONENT_SIGN = 13
export const INTEGER_ZERO = 14
export const INTEGER = 15
const FRACTION = 16
const EXPONENT = 17

export const LITERALS: Readonly<Record<number, { readonly kind: JsonKind; readonly bytes: Uint8Array }>> = {
  0x74: { kind: 'true', bytes: Buffer.from('true') },
  0x66: { kind: 'false', bytes: Buffer.from('false') },
  0x6e: { kind: 'null', bytes: Buffer.from('null') },
}

export function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

export function isEscape(byte: number): boolean {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return true
    default:
      return false
  }
}

export function isHex(byte: number): boolean {
  const lower = byte | 0x20
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66)
}

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

/** The state of a number after `byte`, or undefined if `byte` does not continue it. */
export function numberState(state: number, byte: number): number | undefined {
  switch (state) {
    case NUMBER_MINUS:
      if (byte === ZERO) return INTEGER_ZERO
      return isDigit(byte) ? INTEGER : undefined
    case INTEGER_ZERO:
    case INTEGER:
      if (byte === DOT) return NUMBER_DOT
      if ((byte | 0x20) === 0x65) return NUMBER_EXPONENT
      return state === INTEGER && isDigit(byte) ? INTEGER : undefined
    case NUMBER_DOT:
      return isDigit(byte) ? FRACTION : undefined
    case FRACTION:
      if ((byte | 0x20) === 0x65) return NUMBER_EXPONENT
      return isDigit(byte) ? FRACTION : undefined
    case NUMBER_EXPONENT:
      if (byte === PLUS || byte === MINUS) return NUMBER_EXPONENT_SIGN
      return isDigit(byte) ? EXPONENT : undefined
    default: // NUMBER_EXPONENT_SIGN, EXPONENT
      return isDigit(byte) ? EXPONENT : undefined
  }
}
