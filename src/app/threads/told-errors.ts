import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'

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
      readonly details: NonNullable<ConstructorParameters<typeof ApiError>[2]>
    })
  | (Told & { readonly is: 'command'; readonly code: CommandError['code']; readonly hint: string })
  /** The code is that of the system, such as `EADDRINUSE`. */
  | (Told & { readonly is: 'other'; readonly name: string; readonly code?: string })

/** What was thrown, as data. A class that refines {@link CommandError} becomes one: say before what it says more. */
export function told(thrown: unknown): ToldError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const common: Told = {
    message: error.message,
    ...(error.stack !== undefined && { stack: error.stack }),
    ...(error.cause !== undefined && { cause: told(error.cause) }),
  }
  if (error instanceof ApiError) {
    const { code, errors, retryAfterMs, headers, more } = error
    const details = {
      ...(errors && { errors }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(headers && { headers }),
      ...(more && { more }),
    }
    return { ...common, is: 'api', code, details }
  }
  if (error instanceof CommandError) return { ...common, is: 'command', code: error.code, hint: error.hint }
  const code = 'code' in error && typeof error.code === 'string' && { code: error.code }
  return { ...common, is: 'other', name: error.name, ...code }
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
