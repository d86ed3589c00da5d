import type { StorePorts } from '../engine.ts'
import { insertAudit, selectAudit } from './audit.ts'
import { insertLoginLink, takeLoginLink } from './login-links.ts'
import { selectKnownOrigins } from './login-origins.ts'
import { insertSession, selectSession } from './sessions.ts'
import { deleteToken, insertToken, selectToken, selectTokens, selectUsedToken } from './tokens.ts'
import type {
  AuditLine,
  AuditQuery,
  NewLoginLink,
  NewSession,
  NewToken,
  NewUser,
  OpenSession,
  StoredToken,
  TokenOwner,
  TokenQuery,
  UsedToken,
  User,
  UserChange,
  UserStore,
} from './types.ts'
import {
  deleteSessions,
  insertUser,
  known,
  selectUser,
  selectUsers,
  updatePassword,
  updateUser,
} from './users.ts'

/** Users, sessions and the audit log. */
export class DatabaseUsers implements UserStore {
  readonly #ports: StorePorts

  constructor(ports: StorePorts) {
    this.#ports = ports
  }

  users(page: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly User[]> {
    return this.#ports.read(db => selectUsers(db, page))
  }

  async user(name: string): Promise<User | undefined> {
    return (await this.credential(name))?.user
  }

  credential(name: string): Promise<{ readonly user: User; readonly passwordHash: string } | undefined> {
    return this.#ports.read(db => selectUser(db, name))
  }

  knownOrigins(user: string, origins: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#ports.read(db => selectKnownOrigins(db, user, origins))
  }

  createUser(user: NewUser): Promise<User> {
    return this.#ports.write(db => insertUser(db, user, this.#nowMs))
  }

  changeUser(name: string, change: UserChange, version?: number): Promise<User> {
    return this.#ports.write(db => updateUser(db, name, change, version))
  }

  setPassword(name: string, passwordHash: string): Promise<void> {
    return this.#ports.write(db => updatePassword(db, name, passwordHash))
  }

  openSession(session: NewSession): Promise<OpenSession | undefined> {
    return this.#ports.write(db => insertSession(db, session, this.#nowMs))
  }

  session(digest: string): Promise<OpenSession | undefined> {
    return this.#ports.read(db => selectSession(db, digest))
  }

  async touchSession(digest: string): Promise<void> {
    await this.#ports.write(db =>
      db.updateTable('sessions').set({ used_at_ms: this.#nowMs }).where('digest', '=', digest).execute(),
    )
  }

  async endSession(digest: string): Promise<void> {
    await this.#ports.write(db => db.deleteFrom('sessions').where('digest', '=', digest).execute())
  }

  endSessions(user: string): Promise<number> {
    return this.#ports.write(async db => deleteSessions(db, (await known(db, user)).id))
  }

  async pruneSessions(before: { readonly createdAtMs: number; readonly usedAtMs: number }): Promise<void> {
    await this.#ports.write(db =>
      db
        .deleteFrom('sessions')
        .where(row => {
          return row.or([
            row('created_at_ms', '<=', before.createdAtMs),
            row('used_at_ms', '<=', before.usedAtMs),
          ])
        })
        .execute(),
    )
  }

  createLoginLink(link: NewLoginLink): Promise<void> {
    return this.#ports.write(db => insertLoginLink(db, link))
  }

  takeLoginLink(digest: string): Promise<string | undefined> {
    return this.#ports.write(db => takeLoginLink(db, digest, this.#nowMs))
  }

  createToken(token: NewToken): Promise<StoredToken> {
    return this.#ports.write(db => insertToken(db, token, this.#nowMs))
  }

  tokens(query: TokenQuery = {}): Promise<readonly StoredToken[]> {
    return this.#ports.read(db => selectTokens(db, query))
  }

  token(id: string): Promise<StoredToken | undefined> {
    return this.#ports.read(db => selectToken(db, id))
  }

  usedToken(digest: string): Promise<UsedToken | undefined> {
    return this.#ports.read(db => selectUsedToken(db, digest, this.#nowMs))
  }

  async touchToken(id: string): Promise<void> {
    await this.#ports.write(db =>
      db.updateTable('tokens').set({ used_at_ms: this.#nowMs }).where('id', '=', id).execute(),
    )
  }

  revokeToken(id: string, owner: TokenOwner = {}): Promise<boolean> {
    return this.#ports.write(db => deleteToken(db, id, owner))
  }

  record(line: Omit<AuditLine, 'id' | 'atMs'>): Promise<void> {
    return this.#ports.write(db => insertAudit(db, line, this.#nowMs))
  }

  audit(query: AuditQuery = {}): Promise<readonly AuditLine[]> {
    return this.#ports.read(db => selectAudit(db, query))
  }

  get #nowMs(): number {
    return this.#ports.clock.nowMs()
  }
}
