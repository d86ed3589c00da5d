import { keyDigest } from '../../base/api-key.ts'
import { ApiError } from '../../base/catalogue/api.ts'
import { iso } from '../../base/iso.ts'
import { userName } from '../../schema/user.ts'
import { record } from '../../services/audit.ts'
import type { Call, HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import type { SessionCookie } from '../session/credentials.ts'
import { type LoginOrigin, type LoginThrottle, networksOf } from '../session/login-throttle.ts'
import type { LiveSession, Sessions } from '../session/sessions.ts'

type Ids = 'log_in' | 'get_session' | 'log_out' | 'log_out_everywhere' | 'change_password'

/** The ports of the session operations. */
export interface SessionPorts {
  readonly sessions: Sessions
  readonly loginThrottle: LoginThrottle
  readonly cookie: SessionCookie
}

type LoginClient = Pick<Call<Ids>, 'address' | 'device' | 'hasLeft'>

export function sessionHandlers(
  { store, hasher, clock, random }: Pick<UseCasePorts, 'store' | 'hasher' | 'clock' | 'random'>,
  { sessions, loginThrottle, cookie }: SessionPorts,
): HandlersOf<Ids> {
  const { users } = store

  /**
   * Takes the same time and gives the same answer for known, disabled and unknown names.
   * @returns the hash that the password was verified with.
   * @throws {ApiError} wrong_credentials, too_many_attempts, busy; bad_request if the client has disconnected
   */
  async function verifiedHash(
    name: string,
    password: string,
    { address, device, hasLeft }: LoginClient,
  ): Promise<string> {
    const origin = await originOf(name, address, device)
    const assertNoPause = () => {
      const pauseMs = loginThrottle.pauseMs(name, origin)
      if (pauseMs > 0) throw new ApiError('too_many_attempts', undefined, { retryAfterMs: pauseMs })
    }
    assertNoPause()
    const rank = origin.isKnown ? Number(origin.device === undefined) : loginThrottle.failuresOf(origin)
    const turn = { isKnown: origin.isKnown, rank }
    hasher.assertRoom(turn)
    const found = userName.safeParse(name).success ? await users.credential(name) : undefined
    const isRight = await hasher.verify(password, found?.passwordHash, {
      ...turn,
      onTurn() {
        if (hasLeft()) throw new ApiError('bad_request')
        // Parallel guesses are slowed down by the failures of those before them.
        assertNoPause()
      },
    })
    if (isRight && found?.user.enabled) {
      loginThrottle.succeeded(name, origin)
      return found.passwordHash
    }
    loginThrottle.failed(name, origin)
    throw new ApiError('wrong_credentials')
  }

  /** The same query for known and unknown users. */
  async function originOf(name: string, address: string, device: string | undefined): Promise<LoginOrigin> {
    const { network, site } = networksOf(address)
    const digest = device === undefined ? undefined : keyDigest(device)
    const candidates = [networkMark(network), ...(digest === undefined ? [] : [deviceMark(digest)])]
    const known = await users.knownOrigins(name, candidates)
    const hasDevice = digest !== undefined && known.has(deviceMark(digest))
    return { network, site, isKnown: known.size > 0, ...(hasDevice && { device: digest }) }
  }

  return {
    async log_in({
      body: { username, password, carrier },
      address,
      device,
      hasLeft,
      assertSameSite,
      contextOf,
    }) {
      // A page of another site must not log its visitor in as another user, either.
      if (carrier === 'cookie') assertSameSite()
      const client = { address, hasLeft, ...(device !== undefined && { device }) }
      const passwordHash = await verifiedHash(username, password, client)
      // A new token at each log-in: a planted cookie is worthless.
      const newDevice = carrier === 'cookie' ? cookie.newDevice(random) : undefined
      const origins = [
        networkMark(networksOf(address).network),
        ...(newDevice === undefined ? [] : [deviceMark(keyDigest(newDevice))]),
      ]
      const opened = await sessions.open({ user: username, passwordHash, carrier, address, origins })
      // The password was changed meanwhile.
      if (!opened) throw new ApiError('wrong_credentials')
      const { token, session } = opened
      await record(contextOf(session.user), { action: 'log_in', target: `user/${username}` })
      return {
        body: { ...sessionBody(session), ...(newDevice === undefined && { token }) },
        user: username,
        ...(newDevice !== undefined && {
          headers: {
            'set-cookie': [
              cookie.set(token, session.expiresAtMs - clock.nowMs()),
              cookie.setDevice(newDevice),
            ],
          },
        }),
      }
    },
    async get_session({ caller }) {
      return { body: sessionBody(caller.session) }
    },
    async log_out({ caller: { session }, context }) {
      await context.store.users.endSession(session.digest)
      await record(context, { action: 'log_out' })
      return { body: undefined, ...clearCookie(session) }
    },
    async log_out_everywhere({ caller, context }) {
      await context.store.users.endSessions(caller.name)
      await record(context, { action: 'log_out_everywhere' })
      return { body: undefined, ...clearCookie(caller.session) }
    },
    async change_password({ body, caller, context, address, device, hasLeft }) {
      const client = { address, hasLeft, ...(device !== undefined && { device }) }
      await verifiedHash(caller.name, body.current_password, client)
      await context.store.users.setPassword(caller.name, await hasher.hash(body.new_password))
      await record(context, { action: 'change_password' })
      return { body: undefined, ...clearCookie(caller.session) }
    },
  }

  function clearCookie({ carrier }: LiveSession) {
    return carrier === 'cookie' ? { headers: { 'set-cookie': cookie.clear() } } : {}
  }
}

function networkMark(network: string): string {
  return `network ${network}`
}

function deviceMark(digest: string): string {
  return `device ${digest}`
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
