import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'

type DetailsOfApi = NonNullable<ConstructorParameters<typeof ApiError>[2]>

/** The fields common to all errors. */
interface SerializedBase {
  readonly message: string
  readonly stack?: string
  readonly cause?: SerializedError
}

/** An error as it crosses between threads: the clone algorithm drops classes and extra properties. */
export type SerializedError =
  | (SerializedBase & {
      readonly is: 'api'
      readonly code: ApiError['code']
      readonly details: DetailsOfApi
    })
  | (SerializedBase & { readonly is: 'command'; readonly code: CommandError['code']; readonly hint: string })
  /** The code is a system code, such as `EADDRINUSE`. */
  | (SerializedBase & { readonly is: 'other'; readonly name: string; readonly code?: string })

/** The longest chain of causes that is sent. */
const MAX_CAUSES = 8

const UNSERIALIZABLE = 'the thrown value cannot be serialized'

/**
 * Converts any thrown value to data: a caller would wait for ever for an error that cannot be sent. Subclasses of
 * {@link CommandError} become a plain CommandError, so extra details must go into the message.
 */
export function serialize(thrown: unknown): SerializedError {
  return serializeCause([], thrown)
}

/** @param above the errors that it is the cause of, outermost first. */
function serializeCause(above: readonly unknown[], thrown: unknown): SerializedError {
  try {
    return dataOf(above, thrown)
  } catch {
    // The error thrown by inspecting the value may be just as unusable.
    return { is: 'other', name: 'Error', message: UNSERIALIZABLE }
  }
}

/** @throws any error of a getter, and {@link TypeError} if a field has the wrong type. */
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

/** Cloned one by one: a detail that is not data is left out, and the others are kept. */
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

/** @throws {TypeError} if the value is not a string. */
function text<Text extends string>(claimed: Text): Text {
  if (typeof claimed === 'string') return claimed
  throw new TypeError('not a string')
}

/** Restores the error, with the stack frames of the thread that threw it. */
export function errorOf(serialized: SerializedError): Error {
  const cause = serialized.cause && { cause: errorOf(serialized.cause) }
  const error = instantiate(serialized, cause)
  return serialized.stack === undefined ? error : Object.assign(error, { stack: serialized.stack })
}

function instantiate(serialized: SerializedError, cause: { readonly cause: Error } | undefined): Error {
  switch (serialized.is) {
    case 'api':
      return new ApiError(serialized.code, serialized.message, { ...serialized.details, ...cause })
    case 'command':
      return new CommandError(serialized.code, serialized.message, { hint: serialized.hint, ...cause })
    case 'other': {
      const { name, code } = serialized
      return Object.assign(new Error(serialized.message, cause), {
        name,
        ...(code !== undefined && { code }),
      })
    }
  }
}
