import type { OperationId, OperationOf } from '../schema/api/operations.ts'
import type { PERMISSIONS, Scope } from '../schema/api/permissions.ts'
import type { Fields } from '../schema/api/reshape.ts'
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../schema/api/types.ts'
import type { Role } from '../schema/user.ts'
import type { Store } from '../store/types.ts'
import type { Authority } from '../store/users/types.ts'
import type { LiveSession } from './session/sessions.ts'

/** Who calls, and what of it all is theirs. */
export interface Caller {
  readonly name: string
  readonly role: Role
  readonly scope: Scope
  /** Whose things alone there are for this caller; absent where the scope is `all`. */
  readonly tenant?: string
  readonly session: LiveSession
  /** By what right this request changes something. */
  readonly authority: Authority
}

/** One request, read and allowed. */
export interface Call<Id extends OperationId> {
  readonly params: ParamsOf<OperationOf<Id>>
  readonly query: QueryOf<OperationOf<Id>>
  readonly body: BodyOf<OperationOf<Id>>
  /** The body in the words in which it was sent, checked: for resources, which are stored in words. */
  readonly json: Fields
  /** Of `if-match`: what the change starts from. Absent: whatever stands. */
  readonly version?: number
  readonly caller: (typeof PERMISSIONS)[Id] extends 'anyone' ? undefined : Caller
  /** For changes: each of them makes sure in its transaction that the caller may still make it. */
  readonly store: (typeof PERMISSIONS)[Id] extends 'anyone' ? undefined : Store
  /** Of the client: behind trusted proxies the one that they tell. */
  readonly address: string
  /** The cookie that a browser keeps from an earlier log-in, of whatever user. */
  readonly device?: string
  readonly requestId: string
  /** Whether nobody waits for an answer any more: for what takes its turn in a line. */
  readonly hasLeft: () => boolean
  /** Everything stood so already: the audit gets no line. */
  readonly markUnchanged: () => void
  /** @throws {ApiError} cross_site, where a browser was made to ask by another site's page. */
  readonly assertSameSite: () => void
}

/** What a handler answers. */
export interface Reply<Id extends OperationId> {
  readonly body: AnswerOf<OperationOf<Id>>
  /** The version for `if-match`. */
  readonly etag?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** For the audit: what it was about, where the path does not say it, and the revision that it made. */
  readonly target?: string
  readonly revision?: number
  /** For the audit, where there was no caller. */
  readonly user?: { readonly name: string; readonly role: Role }
}

export type Handler<Id extends OperationId> = (call: Call<Id>) => Promise<Reply<Id>>

/** One for each operation: a missing one does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }

/** Those of some operations. */
export type HandlersOf<Ids extends OperationId> = Pick<Handlers, Ids>
