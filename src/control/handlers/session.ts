import { ApiError } from '../../base/catalogue/api.ts'
import { userName } from '../../schema/user.ts'
import type { Call, HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { iso } from '../resources.ts'
import type { Attempts } from '../session/attempts.ts'
import type { SessionCookie } from '../session/credentials.ts'
import type { LiveSession, Sessions } from '../session/sessions.ts'

type Ids = 'log_in' | 'get_session' | 'log_out' | 'log_out_everywhere' | 'change_password'

/** What sessions need beside the use cases. */
export interface SessionPorts {
  readonly sessions: Sessions
  readonly attempts: Attempts
  readonly cookie: SessionCookie
}

type Asker = Pick<Call<Ids>, 'address' | 'hasLeft'>

export function sessionHandlers(
  { store, hasher, clock }: Pick<UseCasePorts, 'store' | 'hasher' | 'clock'>,
  { sessions, attempts, cookie }: SessionPorts,
): HandlersOf<Ids> {
  const { people } = store

  /**
   * One answer and one duration for every name, known, disabled or made up.
   * @returns what the password was verified with.
   * @throws {ApiError} wrong_credentials, too_many_attempts, busy; bad_request, which nobody reads, where the asker has left
   */
  async function verifiedHash(name: string, password: string, { address, hasLeft }: Asker): Promise<string> {
    const assertNoPause = () => {
      const pauseMs = attempts.pauseMs(name, address)
      if (pauseMs > 0) throw new ApiError('too_many_attempts', undefined, { retryAfterMs: pauseMs })
    }
    assertNoPause()
    const isKnown = attempts.isKnown(name, address)
    hasher.assertRoom(isKnown)
    const found = userName.safeParse(name).success ? await people.credential(name) : undefined
    const isRight = await hasher.verify(password, found?.passwordHash, {
      isKnown,
      onTurn() {
        if (hasLeft()) throw new ApiError('bad_request')
        // Guesses that were sent side by side are slowed down by what became of those before them.
        assertNoPause()
      },
    })
    if (isRight && found?.user.enabled) {
      attempts.succeeded(name, address)
      return found.passwordHash
    }
    attempts.failed(name, address)
    throw new ApiError('wrong_credentials')
  }

  return {
    async log_in({ body: { username, password, carrier }, address, hasLeft, assertSameSite }) {
      // Another site's page must not log its visitor in as somebody else, either.
      if (carrier === 'cookie') assertSameSite()
      const passwordHash = await verifiedHash(username, password, { address, hasLeft })
      const opened = await sessions.open({ user: username, passwordHash, carrier, address })
      // The password is another one by now.
      if (!opened) throw new ApiError('wrong_credentials')
      const { token, session } = opened
      const isCookie = carrier === 'cookie'
      return {
        body: { ...sessionBody(session), ...(!isCookie && { token }) },
        user: session.user,
        target: `user/${username}`,
        ...(isCookie && {
          headers: { 'set-cookie': cookie.set(token, session.expiresAtMs - clock.nowMs()) },
        }),
      }
    },
    async get_session({ caller }) {
      return { body: sessionBody(caller.session) }
    },
    async log_out({ caller: { session }, store: changing }) {
      await changing.people.endSession(session.digest)
      return { body: undefined, ...farewell(session) }
    },
    async log_out_everywhere({ caller, store: changing }) {
      await changing.people.endSessions(caller.name)
      return { body: undefined, ...farewell(caller.session) }
    },
    async change_password({ body, caller, store: changing, address, hasLeft }) {
      await verifiedHash(caller.name, body.current_password, { address, hasLeft })
      await changing.people.setPassword(caller.name, await hasher.hash(body.new_password))
      return { body: undefined, ...farewell(caller.session) }
    },
  }

  function farewell({ carrier }: LiveSession) {
    return carrier === 'cookie' ? { headers: { 'set-cookie': cookie.clear() } } : {}
  }
}

function sessionBody(session: LiveSession) {
  const { user, carrier, createdAtMs, idleExpiresAtMs, expiresAtMs, csrfToken } = session
  return {
    user: {
      name: user.name,
      role: user.role,
      ...(user.tenant !== undefined && { tenant: user.tenant }),
    },
    carrier,
    ...(carrier === 'cookie' && { csrf_token: csrfToken }),
    created_at: iso(createdAtMs),
    idle_expires_at: iso(idleExpiresAtMs),
    expires_at: iso(expiresAtMs),
  }
}
