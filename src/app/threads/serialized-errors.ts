import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'

type DetailsOfApi = NonNullable<ConstructorParameters<typeof ApiError>[2]>

/** What is told of an error in any case. */
interface SerializedBase {
  readonly message: string
  readonly stack?: string
  readonly cause?: SerializedError
}

/** An error as it crosses between threads: a class does not, and of what hangs on an error nothing does. */
export type SerializedError =
  | (SerializedBase & {
      readonly is: 'api'
      readonly code: ApiError['code']
      readonly details: DetailsOfApi
    })
  | (SerializedBase & { readonly is: 'command'; readonly code: CommandError['code']; readonly hint: string })
  /** The code is that of the system, such as `EADDRINUSE`. */
  | (SerializedBase & { readonly is: 'other'; readonly name: string; readonly code?: string })

/** Causes that are told, each of the one before: whoever reads them has found the reason by then. */
const MAX_CAUSES = 8

const UNSERIALIZABLE = 'what was thrown cannot be told'

/**
 * What was thrown, as data, whatever it was: who waits for an answer would wait for ever for one that cannot be sent.
 * A class that refines {@link CommandError} becomes one: say before what it says more.
 */
export function serialize(thrown: unknown): SerializedError {
  return serializeCause([], thrown)
}

/** @param above what it is the cause of, from the first on. */
function serializeCause(above: readonly unknown[], thrown: unknown): SerializedError {
  try {
    return dataOf(above, thrown)
  } catch {
    // What was thrown by looking at it may be no better.
    return { is: 'other', name: 'Error', message: UNSERIALIZABLE }
  }
}

/** @throws whatever looking at it does, and {@link TypeError} where it is not what an error is. */
function dataOf(above: readonly unknown[], thrown: unknown): SerializedError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { message, stack, cause } = error
  const path = [...above, error]
  const isSerialized = cause !== undefined && path.length <= MAX_CAUSES && !path.includes(cause)
  const common: SerializedBase = {
    message: typeof message === 'string' ? message : UNSERIALIZABLE,
    ...(typeof stack === 'string' && { stack }),
    ...(isSerialized && { cause: serializeCause(path, cause) }),
  }
  if (error instanceof ApiError) {
    return { ...common, is: 'api', code: text(error.code), details: detailsOf(error) }
  }
  if (error instanceof CommandError) {
    return { ...common, is: 'command', code: text(error.code), hint: text(error.hint) }
  }
  const name = typeof error.name === 'string' ? error.name : 'Error'
  const code = 'code' in error && typeof error.code === 'string' && { code: error.code }
  return { ...common, is: 'other', name, ...code }
}

/** Copied one by one: what is no data is left out, and does not keep the rest from being told. */
function detailsOf({ errors, retryAfterMs, headers, more }: ApiError): DetailsOfApi {
  return Object.fromEntries(
    Object.entries({ errors, retryAfterMs, headers, more }).flatMap(([name, detail]) => {
      if (detail === undefined) return []
      try {
        return [[name, structuredClone(detail)]]
      } catch {
        return []
      }
    }),
  )
}

/** @throws {TypeError} where what is to be one is none. */
function text<Text extends string>(claimed: Text): Text {
  if (typeof claimed === 'string') return claimed
  throw new TypeError('not a text')
}

/** The error that was told of, with the frames of the thread where it was thrown. */
export function errorOf(serialize: SerializedError): Error {
  const cause = serialize.cause && { cause: errorOf(serialize.cause) }
  const error = madeOf(serialize, cause)
  return serialize.stack === undefined ? error : Object.assign(error, { stack: serialize.stack })
}

function madeOf(serialize: SerializedError, cause: { readonly cause: Error } | undefined): Error {
  switch (serialize.is) {
    case 'api':
      return new ApiError(serialize.code, serialize.message, { ...serialize.details, ...cause })
    case 'command':
      return new CommandError(serialize.code, serialize.message, { hint: serialize.hint, ...cause })
    case 'other': {
      const { name, code } = serialize
      return Object.assign(new Error(serialize.message, cause), { name, ...(code !== undefined && { code }) })
    }
  }
}
