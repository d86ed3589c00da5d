import { CommandError } from '../base/catalogue/command.ts'
import { withTimeout } from '../base/with-timeout.ts'
import { API_PREFIX, type OperationId, operation } from '../schema/api/operations.ts'

/** The address of a control plane, and its token. */
export interface ControlAccess {
  readonly url: URL
  /** Of a session or a user; never shown. Absent before the log-in. */
  readonly token?: string
  readonly signal: AbortSignal
}

export interface ControlAnswer {
  readonly status: number
  readonly json: unknown
}

const TIMEOUT_MS = 10_000
/** Passwords are hashed one by one, and rejections are delayed. */
const LOG_IN_TIMEOUT_MS = 30_000
/** A redirect must not carry the token to another server. */
const REDIRECT = 'error'

/**
 * Calls one operation of a control plane.
 * @throws {CommandError} control_plane_unreachable if there is no answer, another server answers, or the token is not accepted.
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
  const timeoutMs = id === 'log_in' ? LOG_IN_TIMEOUT_MS : TIMEOUT_MS
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
      signal: withTimeout(timeoutMs, signal),
    })
    text = await answer.text()
  } catch (error) {
    signal.throwIfAborted()
    throw new CommandError(
      'control_plane_unreachable',
      `${url.origin} does not answer: ${reasonOf(error, timeoutMs)}.`,
      {
        cause: error,
      },
    )
  }
  if (answer.status === 204) return { status: 204, json: undefined }
  const json = jsonOf(text)
  if (isGatewayError(json)) {
    throw new CommandError(
      'control_plane_unreachable',
      `${url.origin} is the gateway for inference, not the control plane.`,
      {
        hint: 'The control plane listens elsewhere: 127.0.0.1:8080, or as `gw serve --control-listen` says.',
      },
    )
  }
  if (token !== undefined && (answer.status === 401 || answer.status === 403)) {
    const { detail } = (json ?? {}) as { readonly detail?: string }
    const why = answer.status === 403 && detail !== undefined ? `: ${detail}` : '.'
    throw new CommandError(
      'control_plane_unreachable',
      `${url.origin} rejects the token (${answer.status})${why}`,
      {
        hint: `\`gw login --url ${url.origin} --user NAME\` creates a new one; GW_TOKEN takes precedence over it.`,
      },
    )
  }
  if (json === undefined)
    throw new CommandError('control_plane_unreachable', `${url.origin} is not a control plane of gw.`)
  return { status: answer.status, json }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // not an answer of gw
  }
}

/** An error in the format of `/v1`; problem documents do not have this member. */
function isGatewayError(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'error' in json && !('type' in json && 'title' in json)
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `nothing within ${timeoutMs / 1_000} s`
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return cause instanceof Error
    ? cause.message || String((cause as NodeJS.ErrnoException).code)
    : String(cause)
}
