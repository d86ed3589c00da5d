import { createHmac } from 'node:crypto'
import { isAccessToken } from '../base/access-token.ts'
import { keyDigest } from '../base/api-key.ts'
import { ApiError } from '../base/catalogue/api.ts'
import type { Clock } from '../base/clock.ts'
import { iso } from '../base/iso.ts'
import type { PasswordHasher } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import { operationsOf } from '../schema/api/permissions.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { type Carrier, userName } from '../schema/user.ts'
import type { NewSession, OpenSession, StoredToken, UserStore } from '../store/users/types.ts'
import { record } from './audit.ts'
import type { Actor, Context } from './context.ts'

const TOKEN_BYTES = 32
/** Lets secret scanners find the token, and separates it from API keys. */
const PREFIX = 'gws_'
const TOKEN = /^gws_[\w-]{43}$/
const IDLE_MS = 30 * 60_000
const ABSOLUTE_MS = 12 * 3_600_000
/** How often the use of a session is written. */
const TOUCH_MS = 60_000
/** How often expired sessions are deleted; they are invalid before that. */
const PRUNE_MS = 60_000

/** The document of a session. */
export type SessionShown = AnswerOf<OperationOf<'get_session'>>

/** The origin of a log-in. */
export interface LoginOrigin {
  /** The address, or the /64 of an IPv6 address (RFC 4291 §2.5.4): a client usually controls a whole /64. */
  readonly network: string
  /** The /48 of an IPv6 address, because one site has 65,536 /64 networks; else the same as `network`. */
  readonly site: string
  /** SHA-256 of the device token, if the account has logged in with this browser before. */
  readonly device?: string
  /** Whether the account has logged in from this device or network before. */
  readonly isKnown: boolean
}

/** Slows down password guessing; the limits are those of the interface that the attempts come by. */
export interface LoginLimit {
  /** Milliseconds until the next allowed attempt; 0: now. */
  pauseMs(account: string, origin: LoginOrigin): number
  /** The number of recent failures of the site: sites with fewer have priority. */
  failuresOf(origin: LoginOrigin): number
  /** An attempt begins; call the result when it has ended. @returns undefined if too many of this account and origin go on. */
  begin(account: string, origin: LoginOrigin): (() => void) | undefined
  failed(account: string, origin: LoginOrigin): void
  succeeded(account: string, origin: LoginOrigin): void
}

/** The client that a password came from. */
export interface LoginClient extends Pick<LoginOrigin, 'network' | 'site'> {
  readonly address: string
  /** The token of a browser from an earlier log-in of any user. */
  readonly device?: string
  /** Whether the client has disconnected. */
  readonly hasLeft: () => boolean
}

/** What the operations on passwords need beside the context. */
export interface LoginPorts {
  readonly sessions: Sessions
  readonly loginLimit: LoginLimit
  readonly hasher: Pick<PasswordHasher, 'assertRoom' | 'verify'>
}

/** The context of a log-in: the actor has no name and no role until the password is verified. */
export type AnonymousContext = Pick<Context, 'store' | 'random' | 'auditLog'> & {
  readonly actor: Omit<Actor, 'name' | 'role' | 'tenant'>
}

/** A new session. */
export interface OpenedSession {
  readonly document: SessionShown
  readonly token: string
  readonly session: LiveSession
  /** A token that identifies the browser at its next log-in; it grants no access. Only for the carrier `cookie`. */
  readonly device?: string
}

/**
 * Opens a session with a password.
 *
 * @throws {ApiError} wrong_credentials, too_many_attempts, busy; bad_request if the client has disconnected
 */
export async function logIn(
  { store, random, actor, auditLog }: AnonymousContext,
  ports: LoginPorts,
  credentials: { readonly username: string; readonly password: string; readonly carrier: Carrier },
  client: LoginClient,
): Promise<OpenedSession> {
  const { username, password, carrier } = credentials
  const passwordHash = await verifiedHash(store.users, ports, username, password, client)
  const context = { store, random, actor, auditLog }
  return open(context, ports.sessions, { user: username, passwordHash, carrier }, client)
}

/**
 * Opens a session with a one-time link, which ends with it. A link is random, so that guesses need no pause.
 *
 * @throws {ApiError} wrong_credentials
 */
export async function logInByLink(
  context: AnonymousContext,
  sessions: Sessions,
  { link, carrier }: { readonly link: string; readonly carrier: Carrier },
  client: LoginClient,
): Promise<OpenedSession> {
  const { users } = context.store
  const user = await users.takeLoginLink(keyDigest(link))
  const found = user === undefined ? undefined : await users.credential(user)
  if (user === undefined || !found)
    throw new ApiError('wrong_credentials', 'The link was used already, or has expired.')
  return open(context, sessions, { user, passwordHash: found.passwordHash, carrier }, client)
}

/** @throws {ApiError} wrong_credentials if the password was changed meanwhile. */
async function open(
  { random, actor, auditLog }: AnonymousContext,
  sessions: Sessions,
  { user, passwordHash, carrier }: Pick<NewSession, 'user' | 'passwordHash' | 'carrier'>,
  client: LoginClient,
): Promise<OpenedSession> {
  // A new token at each log-in: a planted cookie is worthless.
  const device = carrier === 'cookie' ? newToken(random) : undefined
  const origins = [
    networkMark(client.network),
    ...(device === undefined ? [] : [deviceMark(keyDigest(device))]),
  ]
  const { address } = client
  const opened = await sessions.open({ user, passwordHash, carrier, address, origins })
  if (!opened) throw new ApiError('wrong_credentials')
  const { token, session } = opened
  const { name, role } = session.user
  await record({ actor: { ...actor, name, role }, auditLog }, { action: 'log_in', target: `user/${user}` })
  return { document: showSession(session), token, session, ...(device !== undefined && { device }) }
}

export function showSession(session: LiveSession): SessionShown {
  const { user, token, carrier, createdAtMs, idleExpiresAtMs, expiresAtMs, csrfToken } = session
  return {
    user: {
      name: user.name,
      role: user.role,
      ...(user.tenant !== undefined && { tenant: user.tenant }),
    },
    may: [...operationsOf(user.role, token?.scope)],
    carrier,
    ...(carrier === 'cookie' && { csrf_token: csrfToken }),
    created_at: iso(createdAtMs),
    idle_expires_at: iso(idleExpiresAtMs),
    expires_at: iso(expiresAtMs),
  }
}

export async function logOut(context: Context, { digest }: Pick<LiveSession, 'digest'>): Promise<void> {
  await context.store.users.endSession(digest)
  await record(context, { action: 'log_out' })
}

/** Ends every session of the user. */
export async function logOutEverywhere(context: Context, { name }: { readonly name: string }): Promise<void> {
  await context.store.users.endSessions(name)
  await record(context, { action: 'log_out_everywhere' })
}

/**
 * Changes the own password, which ends every session of the user.
 *
 * @throws {ApiError} wrong_credentials, too_many_attempts, busy; bad_request if the client has disconnected
 */
export async function changePassword(
  context: Context,
  ports: LoginPorts,
  { name, current, next }: { readonly name: string; readonly current: string; readonly next: string },
  client: LoginClient,
): Promise<void> {
  const { users } = context.store
  await verifiedHash(users, ports, name, current, client)
  await users.setPassword(name, await context.hasher.hash(next))
  await record(context, { action: 'change_password' })
}

const PARALLEL_RETRY_MS = 1_000

/**
 * Takes the same time and gives the same answer for known, disabled and unknown names.
 *
 * @returns the hash that the password was verified with.
 * @throws {ApiError} wrong_credentials, too_many_attempts, busy; bad_request if the client has disconnected
 */
async function verifiedHash(
  users: UserStore,
  { loginLimit, hasher }: LoginPorts,
  name: string,
  password: string,
  client: LoginClient,
): Promise<string> {
  const origin = await originOf(users, name, client)
  const assertNoPause = () => {
    const pauseMs = loginLimit.pauseMs(name, origin)
    if (pauseMs > 0) throw new ApiError('too_many_attempts', undefined, { retryAfterMs: pauseMs })
  }
  assertNoPause()
  const rank = origin.isKnown ? Number(origin.device === undefined) : loginLimit.failuresOf(origin)
  const turn = { isKnown: origin.isKnown, rank }
  hasher.assertRoom(turn)
  const found = userName.safeParse(name).success ? await users.credential(name) : undefined
  const end = loginLimit.begin(name, origin)
  // One user must not keep the others waiting, even with the right password.
  if (!end) throw new ApiError('too_many_attempts', undefined, { retryAfterMs: PARALLEL_RETRY_MS })
  const isRight = await hasher
    .verify(password, found?.passwordHash, {
      ...turn,
      onTurn() {
        if (client.hasLeft()) throw new ApiError('bad_request')
        // Parallel guesses are slowed down by the failures of those before them.
        assertNoPause()
      },
    })
    .finally(end)
  if (isRight && found?.user.enabled) {
    loginLimit.succeeded(name, origin)
    return found.passwordHash
  }
  loginLimit.failed(name, origin)
  throw new ApiError('wrong_credentials')
}

/** The same query for known and unknown users. */
async function originOf(
  users: UserStore,
  name: string,
  { network, site, device }: LoginClient,
): Promise<LoginOrigin> {
  const digest = device === undefined ? undefined : keyDigest(device)
  const candidates = [networkMark(network), ...(digest === undefined ? [] : [deviceMark(digest)])]
  const known = await users.knownOrigins(name, candidates)
  const hasDevice = digest !== undefined && known.has(deviceMark(digest))
  return { network, site, isKnown: known.size > 0, ...(hasDevice && { device: digest }) }
}

function networkMark(network: string): string {
  return `network ${network}`
}

function deviceMark(digest: string): string {
  return `device ${digest}`
}

function newToken(random: Random): string {
  return Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
}

/** A valid session. */
export interface LiveSession extends OpenSession {
  readonly digest: string
  readonly idleExpiresAtMs: number
  readonly expiresAtMs: number
  /** Must be sent with each change by cookie: an attacker who can only send the cookie does not know it. */
  readonly csrfToken: string
  /** The personal access token, if this is not a real session. */
  readonly token?: StoredToken
}

/** Opens, finds and ends sessions. A token has 32 random bytes; only its hash is stored. */
export class Sessions {
  readonly #users: UserStore
  readonly #clock: Clock
  readonly #random: Random
  #prunedAtMs = Number.NEGATIVE_INFINITY

  constructor(ports: { readonly users: UserStore; readonly clock: Clock; readonly random: Random }) {
    this.#users = ports.users
    this.#clock = ports.clock
    this.#random = ports.random
  }

  /** @returns undefined if the user was deleted or disabled, or has another password by now. */
  async open(
    opening: Omit<NewSession, 'digest'>,
  ): Promise<{ readonly token: string; readonly session: LiveSession } | undefined> {
    const nowMs = this.#clock.nowMs()
    await this.#prune(nowMs)
    const token = PREFIX + newToken(this.#random)
    const digest = keyDigest(token)
    const opened = await this.#users.openSession({ ...opening, digest })
    return opened && { token, session: liveSession(opened, token, digest) }
  }

  /**
   * The session of a token, if it arrives by its original carrier and has not expired.
   *
   * @param isUse False: does not prolong it.
   */
  async find(token: string, carrier: Carrier, isUse = true): Promise<LiveSession | undefined> {
    if (isAccessToken(token)) return carrier === 'bearer' ? this.#findToken(token) : undefined
    if (!TOKEN.test(token)) return undefined
    const digest = keyDigest(token)
    const found = await this.#users.session(digest)
    if (!found || found.carrier !== carrier) return undefined
    const nowMs = this.#clock.nowMs()
    const session = liveSession(found, token, digest)
    if (nowMs >= session.expiresAtMs || nowMs >= session.idleExpiresAtMs) {
      await this.#users.endSession(digest)
      return undefined
    }
    if (!isUse || nowMs - found.usedAtMs < TOUCH_MS) return session
    await this.#users.touchSession(digest)
    return liveSession({ ...found, usedAtMs: nowMs }, token, digest)
  }

  /** Ends the session of a token, if there is one. */
  async end(token: string): Promise<void> {
    if (TOKEN.test(token)) await this.#users.endSession(keyDigest(token))
  }

  /** Whether a session is still valid. Does not count as a use of it. */
  async isLive({ digest, token }: Pick<LiveSession, 'digest' | 'token'>): Promise<boolean> {
    if (token) return (await this.#users.usedToken(digest)) !== undefined
    const found = await this.#users.session(digest)
    return found !== undefined && this.#clock.nowMs() < endOf(found)
  }

  /** A personal access token as a session with its rights. */
  async #findToken(text: string): Promise<LiveSession | undefined> {
    const digest = keyDigest(text)
    const found = await this.#users.usedToken(digest)
    if (!found) return undefined
    const { token, user } = found
    const nowMs = this.#clock.nowMs()
    if (nowMs - (token.usedAtMs ?? 0) >= TOUCH_MS) await this.#users.touchToken(token.id)
    const { createdAtMs, expiresAtMs } = token
    return {
      user,
      token,
      carrier: 'bearer',
      digest,
      createdAtMs,
      usedAtMs: nowMs,
      idleExpiresAtMs: expiresAtMs,
      expiresAtMs,
      csrfToken: '',
    }
  }

  async #prune(nowMs: number): Promise<void> {
    const monotonicMs = this.#clock.monotonicMs()
    if (monotonicMs - this.#prunedAtMs < PRUNE_MS) return
    this.#prunedAtMs = monotonicMs
    await this.#users.pruneSessions({ createdAtMs: nowMs - ABSOLUTE_MS, usedAtMs: nowMs - IDLE_MS })
  }
}

/** The earlier one of the two ends of a session. */
function endOf({ createdAtMs, usedAtMs }: OpenSession): number {
  return Math.min(usedAtMs + IDLE_MS, createdAtMs + ABSOLUTE_MS)
}

function liveSession(session: OpenSession, token: string, digest: string): LiveSession {
  const expiresAtMs = session.createdAtMs + ABSOLUTE_MS
  return {
    ...session,
    digest,
    expiresAtMs,
    idleExpiresAtMs: endOf(session),
    csrfToken: createHmac('sha256', token).update('csrf').digest('base64url'),
  }
}
