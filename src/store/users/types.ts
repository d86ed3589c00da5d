import type { TokenScope } from '../../schema/token.ts'
import type { Carrier, Role } from '../../schema/user.ts'

/** A person who may log in to the control plane. */
export interface User {
  readonly name: string
  readonly role: Role
  /** Of the role `tenant`. */
  readonly tenant?: string
  readonly enabled: boolean
  readonly createdAtMs: number
  readonly lastLoginAtMs?: number
  /** Grows with each change of it. */
  readonly version: number
  /** Sessions that have not been ended; some of them may have expired. */
  readonly sessions: number
}

export interface NewUser {
  readonly name: string
  readonly role: Role
  readonly tenant?: string
  /** As `hashPassword` makes it. */
  readonly passwordHash: string
}

/** What may change of a user; what is absent stays. `tenant` goes with `role`. */
export interface UserChange {
  readonly place?: { readonly role: Role; readonly tenant?: string }
  readonly enabled?: boolean
}

export interface NewSession {
  /** SHA-256 of the token. */
  readonly digest: string
  readonly user: string
  /** The one that the user's password was verified with: it has to be the one of the user still. */
  readonly passwordHash: string
  readonly carrier: Carrier
  readonly address: string
  /** To be known from now on: `network …`, `device …`. */
  readonly origins?: readonly string[]
}

export interface OpenSession {
  readonly user: User
  readonly carrier: Carrier
  readonly createdAtMs: number
  /** To the minute: a request that comes sooner after the one before writes nothing. */
  readonly usedAtMs: number
}

/** A personal access token, of which only the hash is kept. */
export interface StoredToken {
  readonly id: string
  readonly name: string
  /** Whose it is. */
  readonly user: string
  /** What its bearer may do: at most what its user may. */
  readonly role: Role
  readonly tenant?: string
  readonly scope: TokenScope
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** To the minute; absent where it was never used. */
  readonly usedAtMs?: number
}

export interface NewToken {
  readonly id: string
  /** SHA-256 of the token. */
  readonly digest: string
  readonly user: string
  readonly name: string
  /** Of an administrator: binds the token to one tenant. */
  readonly tenant?: string
  readonly scope: TokenScope
  readonly expiresAtMs: number
}

export interface TokenQuery {
  readonly user?: string
  /** Only ids behind this one. */
  readonly after?: string
  readonly limit?: number
}

/** A token that is good now, and its user as the token lets it act. */
export interface UsedToken {
  readonly token: StoredToken
  readonly user: User
}

/** By what right a change is made: it has to stand inside the transaction of the change, too. */
export interface Authority {
  /** SHA-256 of the token of the session, or the personal access token, that asks for it. */
  readonly session: string
  /** The role that was allowed to. */
  readonly role: Role
  /** What has to belong to the tenant of the user; absent where all may be changed. */
  readonly target?: { readonly kind: 'key' | 'tenant'; readonly name: string }
}

/** Who changed what, when, from where. */
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
  /** The revision that it made. */
  readonly revision?: number
  readonly requestId?: string
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

/** The people of the control plane: `store.people`. */
export interface UserStore {
  /** By name. */
  users(page?: { readonly after?: string; readonly limit?: number }): Promise<readonly User[]>
  user(name: string): Promise<User | undefined>
  /** What a password is compared with; also of users who are disabled. */
  credential(name: string): Promise<{ readonly user: User; readonly passwordHash: string } | undefined>
  /** Which of some origins the user has logged in from before. */
  knownOrigins(user: string, origins: readonly string[]): Promise<ReadonlySet<string>>
  /** @throws {CommandError} GW4013 where the name is taken, GW4005 without the tenant */
  createUser(user: NewUser): Promise<User>
  /**
   * To disable a user, or to change its place, ends its sessions.
   * @param version what it must still be at; absent: whatever stands.
   * @throws {CommandError} GW4005 without such a user or tenant · GW4001 at another version · GW4017 where no
   * enabled administrator would be left
   */
  changeUser(name: string, change: UserChange, version?: number): Promise<User>
  /** Ends every session of the user, and forgets the devices it has logged in with. @throws {CommandError} GW4005 */
  setPassword(name: string, passwordHash: string): Promise<void>

  /**
   * Notes the log-in; of very many sessions of one user the oldest ends.
   * @returns undefined where the user is gone or disabled by now, or has another password.
   */
  openSession(session: NewSession): Promise<OpenSession | undefined>
  /** A session of a user who is enabled, expired or not: whoever asks knows for how long it is good. */
  session(digest: string): Promise<OpenSession | undefined>
  touchSession(digest: string): Promise<void>
  endSession(digest: string): Promise<void>
  /** How many there were. @throws {CommandError} GW4005 */
  endSessions(user: string): Promise<number>
  /** Forgets sessions that were opened, or last used, before then. */
  pruneSessions(before: { readonly createdAtMs: number; readonly usedAtMs: number }): Promise<void>

  /** @throws {CommandError} GW4005 without the user or tenant · GW4013 where the name is taken · GW6001 */
  createToken(token: NewToken): Promise<StoredToken>
  /** By id, expired ones too. */
  tokens(query?: TokenQuery): Promise<readonly StoredToken[]>
  token(id: string): Promise<StoredToken | undefined>
  /** The one of a digest that is good now: not expired, of a user who is enabled and may still be what it says. */
  usedToken(digest: string): Promise<UsedToken | undefined>
  touchToken(id: string): Promise<void>
  /** @param user whose it has to be; absent: anybody's. @returns false where there is none. */
  revokeToken(id: string, user?: string): Promise<boolean>

  record(line: Omit<AuditLine, 'id' | 'atMs'>): Promise<void>
  /** Newest first. */
  audit(query?: AuditQuery): Promise<readonly AuditLine[]>
}

/** What may be asked of it without changing anything. */
export type UserStoreReads = Pick<
  UserStore,
  'users' | 'user' | 'credential' | 'session' | 'knownOrigins' | 'tokens' | 'token' | 'usedToken' | 'audit'
>
