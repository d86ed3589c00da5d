import type { ServerResponse } from 'node:http'
import { API_FAULTS, type ApiCode, ApiError, problemType } from '../base/catalogue/api.ts'
import { type CommandCode, CommandError } from '../base/catalogue/command.ts'
import { retryAfterSeconds } from '../base/catalogue/retry-after.ts'
import { problemJson } from '../config/format.ts'
import { sendJson } from '../http/json.ts'
import type { HttpRejection } from '../http/rejection.ts'
import {
  ConflictError,
  ManagedError,
  ProbeError,
  UnknownReferenceError,
} from '../services/changes/rejections.ts'
import { ConfigurationInvalid } from '../services/invalid.ts'

/** The single place of the control plane that turns an error into bytes. */

/** The answers for command errors. A code that is missing here is reported as an internal error. */
const ANSWERED: Partial<Record<CommandCode, ApiCode>> = {
  store_unavailable: 'unavailable',
  store_too_new: 'unavailable',
  store_missing: 'unavailable',
  store_locked: 'unavailable',
  master_key_unusable: 'unavailable',
  configuration_invalid: 'configuration_invalid',
  not_servable: 'not_servable',
  revision_changed: 'changed_meanwhile',
  owned_by_other: 'managed_by_config',
  not_found: 'not_found',
  has_secret: 'has_secret',
  disabled_in_file: 'disabled_by_policy',
  still_referenced: 'in_use',
  reference_taken: 'reference_taken',
  balance_too_low: 'balance_too_low',
  already_exists: 'already_exists',
  maintenance_in_file: 'managed_by_config',
  too_many_deletes: 'too_many_deletes',
  last_admin: 'last_admin',
  gateway_alive: 'gateway_alive',
  probe_failed: 'probe_failed',
}

/** Converts any thrown value to an API error; unknown errors become internal errors. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof UnknownReferenceError) {
    const detail = [thrown.message, thrown.hint].join(' ')
    return new ApiError('invalid_request', detail, { errors: [{ pointer: `/${thrown.field}`, detail }] })
  }
  const code = thrown instanceof CommandError ? ANSWERED[thrown.code] : undefined
  if (!(thrown instanceof CommandError) || code === undefined) {
    return new ApiError('internal_error', undefined, { cause: thrown })
  }
  // Store problems are for the operator: the message names the file.
  if (code === 'unavailable') return new ApiError(code, undefined, { cause: thrown, retryAfterMs: 1_000 })
  return new ApiError(code, thrown.message, { cause: thrown, more: detailsOf(thrown) })
}

/** Converts an HTTP rejection; codes that only the data plane has are mapped to similar ones. */
export function asRejected({ code, phrase }: HttpRejection): ApiError {
  const own =
    code === 'unmet_expectation' ? 'bad_request' : code === 'too_many_connections' ? 'unavailable' : code
  return new ApiError(own, `${phrase}.`)
}

function detailsOf(error: CommandError): Record<string, unknown> {
  if (error instanceof ConfigurationInvalid) return { problems: error.problems.map(problemJson) }
  if (error instanceof ManagedError) return error.place ? { ...error.place } : {}
  if (error instanceof ConflictError) {
    return {
      conflicts: error.conflicts.map(({ kind, name, message, other }) => ({
        kind,
        name,
        message,
        ...(other && { file: other.file, line: other.line }),
      })),
    }
  }
  if (error instanceof ProbeError) {
    return { failures: error.failures.map(({ endpoint, cause, hint }) => ({ endpoint, cause, hint })) }
  }
  return {}
}

/** A problem document (RFC 9457). */
export function problemBody(error: ApiError, requestId: string): string {
  const { status, title, hint } = API_FAULTS[error.code]
  return JSON.stringify({
    type: problemType(error.code),
    title,
    status,
    code: error.code,
    detail: error.message,
    hint,
    request_id: requestId,
    ...(error.errors && { errors: error.errors }),
    ...error.more,
  })
}

export const PROBLEM_TYPE = 'application/problem+json'

/** Sends an error. The response head must not have been sent. */
export function sendProblem(
  res: ServerResponse,
  error: ApiError,
  requestId: string,
  headers: Readonly<Record<string, string>>,
): void {
  const { status } = API_FAULTS[error.code]
  const { retryAfterMs } = error
  sendJson(res, status, problemBody(error, requestId), {
    ...headers,
    'content-type': PROBLEM_TYPE,
    ...(retryAfterMs !== undefined && { 'retry-after': String(retryAfterSeconds(retryAfterMs)) }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...error.headers,
  })
}
