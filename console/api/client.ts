import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

/** The shapes of the control plane, by name. */
export type Shapes = components['schemas']

/** A failure that the control plane has explained. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly problem: Shapes['problem']

  constructor(problem: Shapes['problem']) {
    super(problem.detail)
    this.problem = problem
  }

  /** The message about one field, by its JSON pointer. */
  fieldError(pointer: string): string | undefined {
    return this.problem.errors?.find(error => error.pointer === pointer)?.detail
  }
}

/** The control plane does not answer. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** The API of the control plane, and the session that its calls carry. */
export interface Api extends Client<paths> {
  /** Sends the token of the session with each change from now on. */
  begin(csrfToken: string | undefined): void
  /** The user has ended the session. */
  end(): void
}

/** In `localStorage`: this browser may have a session. Otherwise none is requested, since a 401 shows in its console. */
const MARK = 'gw-has-session'

/** There is no session. The message is for a user who had one, and empty for others. */
export class LoggedOut extends Error {
  override readonly name = 'LoggedOut'
}

/** In `sessionStorage` of a tab: the session has expired or was ended by others. */
const ENDED = 'gw-session-ended'

export interface SessionEvents {
  /** The session has ended, or is another one: what was read in it is dropped, before the page is drawn anew. */
  readonly onEnd: () => void
  /** The answer to any request but that for the session says that the session has ended. */
  readonly onRejected: () => void
}

/** Without a key or a click for so long, requests are those of an open page, and do not prolong the session. */
const ATTENDED_MS = 60_000

export function createApi({ onEnd, onRejected }: SessionEvents): Api {
  let csrfToken: string | undefined
  let attendedAt = performance.now()
  for (const input of ['keydown', 'pointerdown'])
    addEventListener(input, ({ timeStamp }) => (attendedAt = timeStamp), { capture: true, passive: true })
  const client = createClient<paths>({ baseUrl: location.origin, fetch: reach })
  client.use({
    onRequest({ request }) {
      if (performance.now() - attendedAt > ATTENDED_MS) request.headers.set('x-unattended', 'true')
      if (request.method === 'GET') return request
      // A change with a cookie needs both headers, even without a body.
      request.headers.set('content-type', 'application/json')
      if (csrfToken !== undefined) request.headers.set('x-csrf-token', csrfToken)
      return request
    },
    async onResponse({ response, schemaPath }) {
      if (response.ok) return response
      const problem = await problemOf(response)
      if (problem.code === 'not_logged_in') {
        if (localStorage.getItem(MARK) !== null) sessionStorage.setItem(ENDED, 'true')
        localStorage.removeItem(MARK)
        onEnd()
        if (schemaPath === '/api/v1/session') throw loggedOut()
        onRejected()
      }
      throw new ApiFailure(problem)
    },
  })
  return {
    ...client,
    begin(token) {
      // Another tab may have logged out, and in as another user.
      if (csrfToken !== undefined && csrfToken !== token) onEnd()
      csrfToken = token
      localStorage.setItem(MARK, 'true')
      sessionStorage.removeItem(ENDED)
    },
    end() {
      onEnd()
      localStorage.removeItem(MARK)
      sessionStorage.removeItem(ENDED)
    },
  }
}

function loggedOut(): LoggedOut {
  return new LoggedOut(
    sessionStorage.getItem(ENDED) === null ? '' : 'The session has ended. Log in to go on.',
  )
}

async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    if (request.signal.aborted) throw error
    throw new Unreachable('The control plane does not answer.', { cause: error })
  }
}

async function problemOf(response: Response): Promise<Shapes['problem']> {
  if (response.headers.get('content-type') === 'application/problem+json')
    return (await response.json()) as Shapes['problem']
  // A proxy in front has answered.
  return {
    type: 'about:blank',
    title: response.statusText,
    status: response.status,
    code: 'unknown',
    detail: `The control plane answered with status ${response.status}.`,
    hint: 'Look at the proxy in front of it.',
    request_id: '',
  }
}

/** @throws {LoggedOut} */
export async function sessionOf(api: Api): Promise<Shapes['session']> {
  if (localStorage.getItem(MARK) === null) throw loggedOut()
  const session = await dataOf(api.GET('/api/v1/session'))
  api.begin(session.csrf_token)
  return session
}

/** The body of an answer. Failures were thrown before. */
export async function dataOf<Data>(answer: Promise<{ readonly data?: Data }>): Promise<Data> {
  return (await answer).data as Data
}
