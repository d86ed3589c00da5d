import type { TokenScope } from '../../schema/token.ts'
import type { Carrier, Role } from '../../schema/user.ts'

/** A user of the control plane. */
export interface User {
  readonly name: string
  readonly role: Role
  /** Only for the role `tenant`. */
  readonly tenant?: string
  readonly enabled: boolean
  readonly createdAtMs: number
  readonly lastLoginAtMs?: number
  /** Grows with each change. */
  readonly version: number
  /** Sessions that have not been ended; some of them may have expired. */
  readonly sessions: number
}

export interface NewUser {
  readonly name: string
  readonly role: Role
  readonly tenant?: string
  /** In the format of `hashPassword`. */
  readonly passwordHash: string
}

/** The fields of a user that may change; absent fields stay. `tenant` belongs to `role`. */
export interface UserChange {
  readonly place?: { readonly role: Role; readonly tenant?: string }
  readonly enabled?: boolean
}

export interface NewSession {
  /** SHA-256 of the token. */
  readonly digest: string
  readonly user: string
  /** The hash that the password was verified with: it must still be the hash of the user. */
  readonly passwordHash: string
  readonly carrier: Carrier
  readonly address: string
  /** Origins to remember: `network …`, `device …`. */
  readonly origins?: readonly string[]
}

export interface OpenSession {
  readonly user: User
  readonly carrier: Carrier
  readonly createdAtMs: number
  /** Precise to the minute: requests in quick succession do not write. */
  readonly usedAtMs: number
}

/** A personal access token; only its hash is stored. */
export interface StoredToken {
  readonly id: string
  readonly name: string
  /** The owner. */
  readonly user: string
  /** The rights of the token: at most those of its user. */
  readonly role: Role
  readonly tenant?: string
  readonly scope: TokenScope
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** Precise to the minute; absent if never used. */
  readonly usedAtMs?: number
}

export interface NewToken {
  readonly id: string
  /** SHA-256 of the token. */
  readonly digest: string
  readonly user: string
  readonly name: string
  /** For tokens of administrators: binds the token to one tenant. */
  readonly tenant?: string
  readonly scope: TokenScope
  readonly expiresAtMs: number
}

/** Whose tokens are meant; absent: of all users, of all tenants. */
export interface TokenOwner {
  readonly user?: string
  /** That the tokens are bound to. */
  readonly tenant?: string
}

export interface TokenQuery extends TokenOwner {
  /** Only ids greater than this one. */
  readonly after?: string
  readonly limit?: number
}

/** A valid token, and its user with the rights of the token. */
export interface UsedToken {
  readonly token: StoredToken
  readonly user: User
}

/** The right under which a change is made: it must still be valid inside the transaction of the change. */
export interface Authority {
  /** SHA-256 of the token of the session, or of the personal access token, that requests the change. */
  readonly session: string
  /** The role that permits the change. */
  readonly role: Role
  /** The resource that must belong to the tenant of the user; absent if all may be changed. */
  readonly target?: { readonly kind: 'key' | 'tenant'; readonly name: string }
}

/** One line of the audit log: who changed what, when and from where. */
export interface AuditLine {
  readonly id: number
  readonly atMs: number
  readonly user: string
  readonly role: string
  readonly origin: 'rest' | 'cli'
  readonly address?: string
  /** An operation of the control plane, or a command. */
  readonly action: string
  readonly target?: string
  /** The revision that the change made. */
  readonly revision?: number
  readonly requestId?: string
  /** A code that says why, if something was rejected. */
  readonly reason?: string
}

export interface AuditQuery {
  readonly user?: string
  readonly action?: string
  readonly target?: string
  /** Only lines with a smaller id. */
  readonly before?: number
  /** 50 by default. */
  readonly limit?: number
}

/** A one-time log-in link. */
export interface NewLoginLink {
  /** SHA-256 of its token. */
  readonly digest: string
  readonly user: string
  readonly expiresAtMs: number
}

/** The users of the control plane: `store.users`. */
export interface UserStore {
  /** Sorted by name. */
  users(page?: { readonly after?: string; readonly limit?: number }): Promise<readonly User[]>
  user(name: string): Promise<User | undefined>
  /** The user with its password hash; also for disabled users. */
  credential(name: string): Promise<{ readonly user: User; readonly passwordHash: string } | undefined>
  /** The given origins from which the user has logged in before. */
  knownOrigins(user: string, origins: readonly string[]): Promise<ReadonlySet<string>>
  /** @throws {CommandError} already_exists if the name is taken, not_found without the tenant */
  createUser(user: NewUser): Promise<User>
  /**
   * Disabling a user, or changing its place, ends its sessions.
   * @param version the expected version; absent: any.
   * @throws {CommandError} not_found without such a user or tenant · revision_changed at another version · last_admin if no enabled
   * administrator would be left
   */
  changeUser(name: string, change: UserChange, version?: number): Promise<User>
  /** Ends every session of the user, and deletes its known devices. @throws {CommandError} not_found */
  setPassword(name: string, passwordHash: string): Promise<void>

  /**
   * Records the log-in; above the limit of sessions per user the oldest ends.
   * @returns undefined if the user was deleted or disabled meanwhile, or has another password.
   */
  openSession(session: NewSession): Promise<OpenSession | undefined>
  /** A session of an enabled user, even if expired: the caller checks the expiry. */
  session(digest: string): Promise<OpenSession | undefined>
  touchSession(digest: string): Promise<void>
  endSession(digest: string): Promise<void>
  /** Returns how many it ended. @throws {CommandError} not_found */
  endSessions(user: string): Promise<number>
  /** Deletes sessions that were opened, or last used, before the given times. */
  pruneSessions(before: { readonly createdAtMs: number; readonly usedAtMs: number }): Promise<void>

  /** Ends the earlier links of the user. @throws {CommandError} not_found */
  createLoginLink(link: NewLoginLink): Promise<void>
  /** Uses up a link. @returns its user; undefined if there is no such link, it has expired, or the user is disabled. */
  takeLoginLink(digest: string): Promise<string | undefined>

  /** @throws {CommandError} not_found without the user or tenant · already_exists if the name is taken · usage */
  createToken(token: NewToken): Promise<StoredToken>
  /** Sorted by id, including expired ones. */
  tokens(query?: TokenQuery): Promise<readonly StoredToken[]>
  token(id: string): Promise<StoredToken | undefined>
  /** The valid token of a digest: not expired, of an enabled user who still has its rights. */
  usedToken(digest: string): Promise<UsedToken | undefined>
  touchToken(id: string): Promise<void>
  /** @returns false if the owner has no such token. */
  revokeToken(id: string, owner?: TokenOwner): Promise<boolean>

  record(line: Omit<AuditLine, 'id' | 'atMs'>): Promise<void>
  /** Newest first. */
  audit(query?: AuditQuery): Promise<readonly AuditLine[]>
}

/** The read-only part of the user store. */
export type UserStoreReads = Pick<
  UserStore,
  'users' | 'user' | 'credential' | 'session' | 'knownOrigins' | 'tokens' | 'token' | 'usedToken' | 'audit'
>
