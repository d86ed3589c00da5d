import { CommandError } from '../base/catalogue/command.ts'
import { within } from '../base/within.ts'
import { API_PREFIX, type OperationId, operation } from '../schema/api/operations.ts'

/** Where a control plane is, and what opens it. */
export interface ControlAccess {
  readonly url: URL
  /** Of a session; never shown. */
  readonly token: string
  readonly signal: AbortSignal
}

export interface ControlAnswer {
  readonly status: number
  readonly json: unknown
}

const PATIENCE_MS = 10_000
/** A token is sent to nobody but whom it was made for. */
const REDIRECT = 'error'

/**
 * Asks a control plane for one operation without parameters in its path.
 *
 * @throws {CommandError} GW7001 where there is no answer, or the session is not one that may ask.
 */
export async function askControl(
  id: OperationId,
  { url, token, signal }: ControlAccess,
  sent: { readonly query?: Readonly<Record<string, string | number>>; readonly body?: object },
): Promise<ControlAnswer> {
  const { method, path } = operation(id)
  const address = new URL(`${API_PREFIX}${path}`, url)
  for (const [name, value] of Object.entries(sent.query ?? {})) address.searchParams.set(name, String(value))
  let answer: Response
  let text: string
  try {
    answer = await fetch(address, {
      method,
      redirect: REDIRECT,
      headers: {
        authorization: `Bearer ${token}`,
        ...(sent.body && { 'content-type': 'application/json' }),
      },
      ...(sent.body && { body: JSON.stringify(sent.body) }),
      signal: within(PATIENCE_MS, signal),
    })
    text = await answer.text()
  } catch (error) {
    signal.throwIfAborted()
    throw new CommandError('GW7001', `${url.origin} does not answer: ${reasonOf(error)}.`, { cause: error })
  }
  if (answer.status === 401 || answer.status === 403) {
    throw new CommandError('GW7001', `${url.origin} refuses the token in GW_TOKEN (${answer.status}).`, {
      hint: 'Log in as an administrator: `POST /api/v1/session`, and put the token into GW_TOKEN.',
    })
  }
  const json = jsonOf(text)
  if (json === undefined) throw new CommandError('GW7001', `${url.origin} is no control plane of gw.`)
  return { status: answer.status, json }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // what is no JSON is no answer of ours
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `nothing within ${PATIENCE_MS / 1_000} s`
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error
    ? cause.message || String((cause as NodeJS.ErrnoException).code)
    : String(cause)
}
