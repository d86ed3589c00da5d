import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { ApiError, type FieldFault } from '../base/catalogue/api.ts'
import { JsonScanner } from '../base/json/scanner.ts'
import { isStorable } from '../base/storable-text.ts'
import { didYouMean } from '../config/did-you-mean.ts'
import { type Issue, unfolded } from '../config/issues.ts'
import { readBody } from '../http/body.ts'
import type { Fields } from '../schema/api/reshape.ts'
import { invalid } from '../services/invalid.ts'
import { asRejected } from './error-response.ts'
import { faultOfNames, faultOfTexts, pointerOf } from './member-names.ts'
import { isJson } from './session/credentials.ts'

const MAX_DEPTH = 32
/** More errors help no client, and the answer must not cost more than the request. */
const MAX_FAULTS = 32

/**
 * The body as a JSON object; undefined if it is empty.
 *
 * @throws {ApiError} request_too_large, unsupported_media_type, invalid_json, bad_request, request_timeout;
 * invalid_request for duplicate members, and for text that no store can hold.
 */
export async function readJson(req: IncomingMessage, limitBytes: number): Promise<Fields | undefined> {
  if (req.headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', 'A compressed body is not supported.')
  }
  const scanner = new JsonScanner(MAX_DEPTH)
  let offset = 0
  const read = await readBody(req, limitBytes, piece => {
    offset += piece.length
    return scanner.push(piece, offset - piece.length)
  })
  if (!read.ok) {
    if (read.fault === 'too_large') {
      throw new ApiError('request_too_large', `The body exceeds the limit of ${limitBytes} bytes.`)
    }
    if (read.fault === 'unwanted') throw new ApiError('invalid_json')
    throw read.fault === 'aborted' ? new ApiError('bad_request') : asRejected(read.fault)
  }
  if (read.lengthBytes === 0) return undefined
  if (!isJson(req)) throw new ApiError('unsupported_media_type', 'The body is not application/json in UTF-8.')
  const bytes = Buffer.concat(read.pieces)
  if (!scanner.done || scanner.rootKind !== 'object' || !isUtf8(bytes)) throw new ApiError('invalid_json')
  const value = JSON.parse(bytes.toString('utf8')) as Fields
  const fault = faultOfNames(bytes, scanner.members, value) ?? faultOfTexts(bytes, value)
  if (fault) throw invalid([fault])
  return value
}

/** @throws {ApiError} invalid_request, with a pointer to each invalid field. */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalid(faultsOf(result.error, schema))
}

/** Each issue as a pointer into the value. Never contains the value, which may be a secret. */
function faultsOf(error: z.ZodError, schema: z.ZodType): FieldFault[] {
  const issues = (error.issues as unknown as readonly Issue[]).flatMap(
    unfolded,
  ) as unknown as readonly z.core.$ZodIssue[]
  const faults = issues.slice(0, MAX_FAULTS).flatMap(issue => {
    if (issue.code === 'unrecognized_keys') {
      const known = fieldsAt(schema, issue.path)
      return issue.keys.slice(0, MAX_FAULTS).map(key => {
        const near = didYouMean(key, known)
        const suggestion = near === undefined ? '' : `; did you mean ${near}?`
        return { pointer: pointerOf([...issue.path, key]), detail: `unknown field${suggestion}` }
      })
    }
    return [{ pointer: pointerOf(issue.path), detail: issueText(issue) }]
  })
  return faults.slice(0, MAX_FAULTS)
}

/**
 * Parses the parameters of a query string; converts numbers and booleans if the schema expects them.
 *
 * @throws {ApiError} invalid_request, with the name of each invalid or repeated parameter.
 */
export function checkedQuery<Schema extends z.ZodObject>(
  schema: Schema | undefined,
  query: string,
): z.output<Schema> | undefined {
  const values: Record<string, unknown> = {}
  const faults: FieldFault[] = []
  for (const [parameter, text] of new URLSearchParams(query)) {
    const field = schema && Object.hasOwn(schema.shape, parameter) ? schema.shape[parameter] : undefined
    if (!field) faults.push({ parameter, detail: 'unknown parameter' })
    else if (Object.hasOwn(values, parameter)) faults.push({ parameter, detail: 'given twice' })
    else if (!isStorable(text)) faults.push({ parameter, detail: 'contains NUL' })
    else values[parameter] = valueOf(text, field as z.ZodType)
  }
  const result = schema?.safeParse(values)
  if (result?.error) {
    faults.push(
      ...result.error.issues.map(issue => ({
        parameter: String(issue.path[0] ?? ''),
        detail: issueText(issue),
      })),
    )
  }
  if (faults.length > 0) throw invalid(faults)
  return result?.data
}

/**
 * The version in `if-match`; undefined for `*` and without the header.
 * @throws {ApiError} precondition_required, changed_meanwhile if the value is not a version.
 */
export function versionOf(req: IncomingMessage, isRequired: boolean): number | undefined {
  const sent = req.headers['if-match']
  if (sent === undefined) {
    if (isRequired) throw new ApiError('precondition_required')
    return undefined
  }
  if (sent === '*') return undefined
  const version = /^"(\d{1,15})"$/.exec(sent)?.[1]
  if (version === undefined) throw new ApiError('changed_meanwhile')
  return Number(version)
}

function issueText(issue: z.core.$ZodIssue): string {
  // The inner issue of a key or of a union member is more specific.
  const inner =
    issue.code === 'invalid_key' || issue.code === 'invalid_element'
      ? issue.issues[0]
      : issue.code === 'invalid_union'
        ? issue.errors.flat().find(({ code }) => code === 'custom')
        : undefined
  return inner?.message ?? issue.message
}

function valueOf(text: string, field: z.ZodType): unknown {
  const { type } = bare(field).def
  if (type === 'number' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at = bare(schema)
  for (const step of path) {
    const next = stepInto(at, step)
    if (!next) return []
    at = bare(next)
  }
  return Object.keys(shapeOf(at) ?? {})
}

function stepInto(schema: z.ZodType, step: PropertyKey): z.ZodType | undefined {
  const { options = [], element } = schema.def as Below
  if (typeof step === 'number')
    return element ?? options.map(option => (option.def as Below).element).find(Boolean)
  const shape = shapeOf(schema)
  return shape && Object.hasOwn(shape, step) ? shape[String(step)] : undefined
}

/** The nesting of a schema that has no shape. */
interface Below {
  readonly options?: readonly z.ZodType[]
  readonly element?: z.ZodType
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape
  const { options = [] } = schema.def as Below
  return options.find(option => option instanceof z.ZodObject)?.shape
}

function bare(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { readonly innerType?: z.ZodType }
  return innerType ? bare(innerType) : schema
}
