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
  /** What `error.code` says on the wire, where it is not the code itself: several may share it. */
  readonly wire?: string
  /** Who is told of it. */
  readonly told: 'command' | 'configuration' | 'client' | 'control plane' | 'health'
  readonly title: string
  readonly hint: string
  /** Of a command. */
  readonly exit?: number
  /** Of an answer over HTTP. */
  readonly status?: number
}

export interface ExplainedField extends Field {
  /** The fields right below it. */
  readonly members: readonly Field[]
}

/** What a word means. One code may be told to several, and one name may end several paths. */
export type Explanation =
  | { readonly of: 'codes'; readonly codes: readonly ExplainedCode[] }
  | { readonly of: 'field'; readonly field: ExplainedField }
  | { readonly of: 'fields'; readonly fields: readonly Field[] }

/**
 * What a field of the configuration or a code of an error means, from the schema and the catalogue.
 *
 * @param word a path as it stands in a file or from its kind down, the last part of one, or a code in any case;
 * absent: the kinds of resources.
 * @throws {CommandError} GW6001 where it means nothing, with what was probably meant.
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
  const meant = meantBy(word, fields)
  throw new CommandError('GW6001', `Nothing is known of \`${word}\`.`, {
    hint: meant
      ? `Did you mean ${meant}?`
      : 'Name a field such as endpoint.timeouts.idle, or a code such as GW1202; `gw explain` alone lists the kinds.',
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
    ...Object.entries(COMMAND_FAULTS).map(([code, { title, hint, exit }]) => {
      return { code, told: 'command', title, hint, exit } as const
    }),
    ...Object.entries(CONFIG_FAULTS).map(([code, { title, hint }]) => {
      return { code, told: 'configuration', title, hint } as const
    }),
    ...Object.entries<WireError>(WIRE_ERRORS).map(([code, { title, hint, status, code: wire }]) => {
      return { code, told: 'client', title, hint, status, ...(wire !== undefined && { wire }) } as const
    }),
    ...Object.entries(API_FAULTS).map(([code, { title, hint, status }]) => {
      return { code, told: 'control plane', title, hint, status } as const
    }),
    ...Object.entries(HEALTH_REASONS).map(([code, { title, hint }]) => {
      return { code, told: 'health', title, hint } as const
    }),
  ]
}

/** A path is compared part by part first, because one wrong letter in a long path is hard to see. */
function meantBy(word: string, fields: ReadonlyMap<string, Field>): string | undefined {
  const paths = [...fields.keys()]
  const mended = hintPath(word, paths)
  if (mended !== undefined && fields.has(mended)) return mended
  const last = (path: string) => path.slice(path.lastIndexOf('.') + 1)
  const wanted = last(word)
  const near = didYouMean(word, [...paths, ...allCodes().flatMap(({ code, wire }) => wire ?? code)])
  return near ?? didYouMean(wanted, paths.map(last))
}

/** Each part of a path replaced by the nearest that can stand there; undefined where none is near. */
function hintPath(word: string, paths: readonly string[]): string | undefined {
  let right = ''
  for (const part of word.split('.')) {
    const lead = right === '' ? '' : `${right}.`
    const candidates = paths
      .filter(path => path.startsWith(lead))
      .map(path => path.slice(lead.length).split('.', 1)[0] ?? '')
    const meant = didYouMean(part, new Set(candidates))
    if (meant === undefined) return undefined
    right = lead + meant
  }
  return right
}
