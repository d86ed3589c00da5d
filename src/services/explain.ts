import { API_FAULTS } from '../base/catalogue/api.ts'
import { COMMAND_FAULTS, CommandError } from '../base/catalogue/command.ts'
import { CONFIG_FAULTS } from '../base/catalogue/config.ts'
import { HEALTH_REASONS } from '../base/catalogue/health.ts'
import { WIRE_ERRORS, type WireError } from '../base/catalogue/wire.ts'
import { didYouMean } from '../config/did-you-mean.ts'
import { allFields, type Field, fieldAt } from '../schema/fields.ts'

/** One entry of the catalogue of errors. */
export interface ExplainedCode {
  readonly code: string
  /** The value of `error.code` on the wire, if it differs from the code; several codes may share it. */
  readonly wire?: string
  /** Who receives it; a field of the JSON output. */
  readonly audience: 'command' | 'configuration' | 'client' | 'control plane' | 'health'
  readonly title: string
  readonly hint: string
  /** Commands only. */
  readonly exit?: number
  /** HTTP answers only. */
  readonly status?: number
}

export interface ExplainedField extends Field {
  /** The direct child fields. */
  readonly members: readonly Field[]
}

/** The meaning of a word. One code may have several readers, and one name may end several paths. */
export type Explanation =
  | { readonly of: 'codes'; readonly codes: readonly ExplainedCode[] }
  | { readonly of: 'field'; readonly field: ExplainedField }
  | { readonly of: 'fields'; readonly fields: readonly Field[] }

/**
 * Explains a field of the configuration or an error code, from the schema and the catalogue.
 * @param word a path as in a file or from its kind down, the last part of a path, or a code in any case; absent: the
 * kinds of resources.
 * @throws {CommandError} usage if the word is unknown, with the most similar one.
 */
export function explain(word: string | undefined): Explanation {
  const fields = allFields()
  if (word === undefined) {
    return { of: 'fields', fields: [...fields.values()].filter(({ path }) => !path.includes('.')) }
  }
  const codes = codesOf(word)
  if (codes.length > 0) return { of: 'codes', codes }
  const field = fieldAt(word, fields)
  if (field) return { of: 'field', field: withMembers(field, fields) }
  const named = [...fields.values()].filter(({ path }) => path.endsWith(`.${word}`))
  const [only] = named
  if (only && named.length === 1) return { of: 'field', field: withMembers(only, fields) }
  if (named.length > 1) return { of: 'fields', fields: named }
  const suggestion = similarTo(word, fields)
  throw new CommandError('usage', `\`${word}\` is unknown.`, {
    hint: suggestion
      ? `Did you mean ${suggestion}?`
      : 'Pass a field such as endpoint.timeouts.idle, or a code such as GW1202; `gw explain` alone lists the kinds.',
  })
}

/** Every path of a field and every code that {@link explain} knows. */
export function explainableWords(): readonly string[] {
  return [...allFields().keys(), ...new Set(allCodes().map(({ code, wire }) => wire ?? code))]
}

function withMembers(field: Field, fields: ReadonlyMap<string, Field>): ExplainedField {
  return { ...field, members: field.below.flatMap(path => fields.get(path) ?? []) }
}

function codesOf(word: string): readonly ExplainedCode[] {
  const wanted = word.toLowerCase()
  return allCodes().filter(({ code, wire }) => code.toLowerCase() === wanted || wire === wanted)
}

function allCodes(): readonly ExplainedCode[] {
  return [
    ...Object.values(COMMAND_FAULTS).map(({ number, title, hint, exit }) => {
      return { code: number, audience: 'command', title, hint, exit } as const
    }),
    ...Object.values(CONFIG_FAULTS).map(({ number, title, hint }) => {
      return { code: number, audience: 'configuration', title, hint } as const
    }),
    ...Object.entries<WireError>(WIRE_ERRORS).map(([code, { title, hint, status, code: wire }]) => {
      return { code, audience: 'client', title, hint, status, ...(wire !== undefined && { wire }) } as const
    }),
    ...Object.entries(API_FAULTS).map(([code, { title, hint, status }]) => {
      return { code, audience: 'control plane', title, hint, status } as const
    }),
    ...Object.entries(HEALTH_REASONS).map(([code, { title, hint }]) => {
      return { code, audience: 'health', title, hint } as const
    }),
  ]
}

/** Paths are compared part by part first: one wrong letter in a long path is a small relative difference. */
function similarTo(word: string, fields: ReadonlyMap<string, Field>): string | undefined {
  const paths = [...fields.keys()]
  const corrected = correctedPath(word, paths)
  if (corrected !== undefined && fields.has(corrected)) return corrected
  const last = (path: string) => path.slice(path.lastIndexOf('.') + 1)
  const wanted = last(word)
  const near = didYouMean(word, [...paths, ...allCodes().flatMap(({ code, wire }) => wire ?? code)])
  return near ?? didYouMean(wanted, paths.map(last))
}

/** Replaces each part of a path with the most similar existing one; undefined if a part has none. */
function correctedPath(word: string, paths: readonly string[]): string | undefined {
  let right = ''
  for (const part of word.split('.')) {
    const lead = right === '' ? '' : `${right}.`
    const candidates = paths
      .filter(path => path.startsWith(lead))
      .map(path => path.slice(lead.length).split('.', 1)[0] ?? '')
    const similar = didYouMean(part, new Set(candidates))
    if (similar === undefined) return undefined
    right = lead + similar
  }
  return right
}
