import { createHmac } from 'node:crypto'
import { isAccessToken } from '../../base/access-token.ts'
import { keyDigest } from '../../base/api-key.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Carrier } from '../../schema/user.ts'
import type { NewSession, OpenSession, StoredToken, UserStore } from '../../store/users/types.ts'

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
    const token = PREFIX + Buffer.from(this.#random.bytes(TOKEN_BYTES)).toString('base64url')
    const digest = keyDigest(token)
    const opened = await this.#users.openSession({ ...opening, digest })
    return opened && { token, session: liveSession(opened, token, digest) }
  }

  /** The session of a token, if it arrives by its original carrier and has not expired. */
  async find(token: string, carrier: Carrier): Promise<LiveSession | undefined> {
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
    if (nowMs - found.usedAtMs < TOUCH_MS) return session
    await this.#users.touchSession(digest)
    return liveSession({ ...found, usedAtMs: nowMs }, token, digest)
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

function liveSession(session: OpenSession, token: string, digest: string): LiveSession {
  const expiresAtMs = session.createdAtMs + ABSOLUTE_MS
  return {
    ...session,
    digest,
    expiresAtMs,
    idleExpiresAtMs: Math.min(session.usedAtMs + IDLE_MS, expiresAtMs),
    csrfToken: createHmac('sha256', token).update('csrf').digest('base64url'),
  }
}
