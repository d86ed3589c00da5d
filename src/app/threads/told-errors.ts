import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'

type DetailsOfApi = NonNullable<ConstructorParameters<typeof ApiError>[2]>

/** What is told of an error in any case. */
interface Told {
  readonly message: string
  readonly stack?: string
  readonly cause?: ToldError
}

/** An error as it crosses between threads: a class does not, and of what hangs on an error nothing does. */
export type ToldError =
  | (Told & {
      readonly is: 'api'
      readonly code: ApiError['code']
      readonly details: DetailsOfApi
    })
  | (Told & { readonly is: 'command'; readonly code: CommandError['code']; readonly hint: string })
  /** The code is that of the system, such as `EADDRINUSE`. */
  | (Told & { readonly is: 'other'; readonly name: string; readonly code?: string })

/** Causes that are told, each of the one before: whoever reads them has found the reason by then. */
const MAX_CAUSES = 8

const UNTOLD = 'what was thrown cannot be told'

/**
 * What was thrown, as data, whatever it was: who waits for an answer would wait for ever for one that cannot be sent.
 * A class that refines {@link CommandError} becomes one: say before what it says more.
 */
export function told(thrown: unknown): ToldError {
  return toldBehind([], thrown)
}

/** @param above what it is the cause of, from the first on. */
function toldBehind(above: readonly unknown[], thrown: unknown): ToldError {
  try {
    return dataOf(above, thrown)
  } catch {
    // What was thrown by looking at it may be no better.
    return { is: 'other', name: 'Error', message: UNTOLD }
  }
}

/** @throws whatever looking at it does, and {@link TypeError} where it is not what an error is. */
function dataOf(above: readonly unknown[], thrown: unknown): ToldError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { message, stack, cause } = error
  const path = [...above, error]
  const isToldOn = cause !== undefined && path.length <= MAX_CAUSES && !path.includes(cause)
  const common: Told = {
    message: typeof message === 'string' ? message : UNTOLD,
    ...(typeof stack === 'string' && { stack }),
    ...(isToldOn && { cause: toldBehind(path, cause) }),
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
export function errorOf(told: ToldError): Error {
  const cause = told.cause && { cause: errorOf(told.cause) }
  const error = madeOf(told, cause)
  return told.stack === undefined ? error : Object.assign(error, { stack: told.stack })
}

function madeOf(told: ToldError, cause: { readonly cause: Error } | undefined): Error {
  switch (told.is) {
    case 'api':
      return new ApiError(told.code, told.message, { ...told.details, ...cause })
    case 'command':
      return new CommandError(told.code, told.message, { hint: told.hint, ...cause })
    case 'other': {
      const { name, code } = told
      return Object.assign(new Error(told.message, cause), { name, ...(code !== undefined && { code }) })
    }
  }
}
