import { ConfigurationInvalid } from '../app/invalid.ts'
import type { CommandError } from '../base/catalogue/command.ts'
import type { Json } from '../schema/kinds.ts'
import type { Format } from './output.ts'
import { problemsToJson, problemsToText } from './problems.ts'
import type { Style } from './style.ts'

/** What a failure has to say beyond its message: each problem of a file, each conflict of a plan. */
export interface Details {
  text(format: Format, style: Style): string
  /** Members of `error` beside code, message and hint. */
  json(): { readonly [member: string]: Json }
}

export function detailsOf(error: CommandError): Details | undefined {
  if (error instanceof ConfigurationInvalid) {
    const { problems } = error
    return {
      text: (format, style) => problemsToText(problems, format, style),
      json: () => ({ problems: problemsToJson(problems) }),
    }
  }
  return undefined
}
