import type { IncomingMessage } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import { boundaryOf, type FieldUses, MultipartScanner } from '../http/multipart.ts'
import { readSpooled, type Spool, type SpoolFolder } from '../http/spool.ts'
import { measureUpload } from '../limits/content.ts'
import type { InferencePath } from '../schema/paths.ts'
import { assertUncompressed, type Call, emptyCall, readCount, unread } from './call.ts'
import { Upload } from './upload.ts'

/** The fields that the gateway reads of an upload. Each may be given once, in exactly this spelling. */
const FIELDS: FieldUses = { model: 'text', n: 'text', stream: 'text' }

const MAX_MODEL_CHARACTERS = 256

/**
 * Reads and validates an upload, like `readCall`.
 *
 * @returns undefined if the client disconnected.
 * @throws {GwError} invalid_multipart, unsupported_encoding, request_too_large, invalid_model, invalid_parameter, unavailable
 *   if it cannot be stored, and for transfer errors: bad_request, request_timeout, header_too_large.
 */
export async function readUpload(
  req: IncomingMessage,
  path: InferencePath,
  limitBytes: number,
  folder: SpoolFolder,
): Promise<(Call & { readonly upload: Upload }) | undefined> {
  assertUncompressed(req)
  // node:http keeps the first of several lines; an upstream may read another one.
  const types = req.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-type')
  const boundary = types.length === 1 ? boundaryOf(req.headers['content-type']) : undefined
  if (boundary === undefined) throw new GwError('invalid_multipart')
  const scanner = new MultipartScanner(boundary, FIELDS)
  const body = await readSpooled(req, folder, limitBytes, (piece, offset) => scanner.push(piece, offset))
  if (!body.ok) {
    if (body.fault === 'aborted') return undefined
    throw body.fault === 'unwanted' ? faultOf(scanner) : unread(body.fault, limitBytes)
  }
  const { spool } = body
  try {
    if (!scanner.end()) throw faultOf(scanner)
    return toCall(spool, scanner, path)
  } catch (error) {
    await spool.close()
    throw error
  }
}

function faultOf({ fault }: MultipartScanner): GwError {
  if (!fault) return new GwError('invalid_multipart')
  const { field, message } = fault
  if (field === undefined) return new GwError('invalid_multipart', message)
  if (field === 'model') return new GwError('invalid_model', message)
  return new GwError('invalid_parameter', message, { param: field })
}

function toCall(
  spool: Spool,
  scanner: MultipartScanner,
  { upload: medium = 'audio', fields }: InferencePath,
): Call & { readonly upload: Upload } {
  const model = scanner.field('model')
  const name = model?.text ?? ''
  if (!model) throw new GwError('invalid_model', '`model` is missing.')
  if (name === '' || name.length > MAX_MODEL_CHARACTERS) {
    const message = `\`model\` must be a non-empty string of at most ${MAX_MODEL_CHARACTERS} characters.`
    throw new GwError('invalid_model', message)
  }
  const counts = (fields.answers ?? []).map(field => {
    const text = scanner.field(field)?.text
    return text === undefined ? 1 : Math.max(readCount(field, text), 1)
  })
  const content = measureUpload(scanner.parts, medium)
  return {
    ...emptyCall(name),
    lengthBytes: spool.lengthBytes,
    stream: scanner.field('stream')?.text?.toLowerCase() === 'true',
    answers: counts.reduce((product, count) => product * count, 1),
    upload: new Upload(spool, scanner, model, content),
  }
}
