import { CommandError } from '../base/catalogue/command.ts'
import { withTimeout } from '../base/with-timeout.ts'
import { API_PREFIX, type OperationId, operation } from '../schema/api/operations.ts'

/** Where a control plane is, and what opens it. */
export interface ControlAccess {
  readonly url: URL
  /** Of a session or a user; never shown. Absent where it is about to log in. */
  readonly token?: string
  readonly signal: AbortSignal
}

export interface ControlAnswer {
  readonly status: number
  readonly json: unknown
}

const PATIENCE_MS = 10_000
/** Passwords are hashed one by one, and rejections come late. */
const LOG_IN_PATIENCE_MS = 30_000
/** A token is sent to nobody but whom it was made for. */
const REDIRECT = 'error'

/**
 * Asks a control plane for one operation.
 *
 * @throws {CommandError} GW7001 where there is no answer, another server answers, or the token is not one that may ask.
 */
export async function askControl(
  id: OperationId,
  { url, token, signal }: ControlAccess,
  sent: {
    readonly params?: Readonly<Record<string, string>>
    readonly query?: Readonly<Record<string, string | number>>
    readonly body?: object
  },
): Promise<ControlAnswer> {
  const { method, path } = operation(id)
  const patienceMs = id === 'log_in' ? LOG_IN_PATIENCE_MS : PATIENCE_MS
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(sent.params?.[name] ?? ''),
  )
  const address = new URL(`${API_PREFIX}${filled}`, url)
  for (const [name, value] of Object.entries(sent.query ?? {})) address.searchParams.set(name, String(value))
  let answer: Response
  let text: string
  try {
    answer = await fetch(address, {
      method,
      redirect: REDIRECT,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(sent.body && { 'content-type': 'application/json' }),
      },
      ...(sent.body && { body: JSON.stringify(sent.body) }),
      signal: withTimeout(patienceMs, signal),
    })
    text = await answer.text()
  } catch (error) {
    signal.throwIfAborted()
    throw new CommandError('GW7001', `${url.origin} does not answer: ${reasonOf(error, patienceMs)}.`, {
      cause: error,
    })
  }
  if (answer.status === 204) return { status: 204, json: undefined }
  const json = jsonOf(text)
  if (isGatewayError(json)) {
    throw new CommandError('GW7001', `${url.origin} is the gateway for inference, not the control plane.`, {
      hint: 'The control plane listens elsewhere: 127.0.0.1:8080, or as `gw serve --control-listen` says.',
    })
  }
  if (token !== undefined && (answer.status === 401 || answer.status === 403)) {
    const { detail } = (json ?? {}) as { readonly detail?: string }
    const why = answer.status === 403 && detail !== undefined ? `: ${detail}` : '.'
    throw new CommandError('GW7001', `${url.origin} rejects the token (${answer.status})${why}`, {
      hint: `\`gw login --url ${url.origin} --user NAME\` makes another one; GW_TOKEN comes before it.`,
    })
  }
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

/** An error in the shape of `/v1`: problem documents have no such member. */
function isGatewayError(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'error' in json && !('type' in json && 'title' in json)
}

function reasonOf(error: unknown, patienceMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `nothing within ${patienceMs / 1_000} s`
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error
    ? cause.message || String((cause as NodeJS.ErrnoException).code)
    : String(cause)
}
