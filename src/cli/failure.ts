import type { CommandError } from '../base/catalogue/command.ts'
import type { Json } from '../schema/kinds.ts'
import type { Format } from './output.ts'
import type { Style } from './style.ts'

/** What a failure has to say beyond its message. */
export interface Details {
  text(format: Format, style: Style): string
  /** Members of `error` beside code, message and hint. */
  json(): { readonly [member: string]: Json }
}

export function detailsOf(_error: CommandError): Details | undefined {
  return undefined
}
