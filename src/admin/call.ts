import type { OperationId, OperationOf } from '../schema/api/operations.ts'
import type { PERMISSIONS, Scope } from '../schema/api/permissions.ts'
import type { Fields } from '../schema/api/reshape.ts'
import type { AnswerOf, BodyOf, ParamsOf, QueryOf } from '../schema/api/types.ts'
import type { Role } from '../schema/user.ts'
import type { Context } from '../services/context.ts'
import type { AnonymousContext, LiveSession } from '../services/sessions.ts'
import type { Authority } from '../store/users/types.ts'
import type { PresentedCredential } from './session/credentials.ts'

/** The caller and its rights. */
export interface Caller {
  readonly name: string
  readonly role: Role
  readonly scope: Scope
  /** The only tenant that this caller sees; absent if the scope is `all`. */
  readonly tenant?: string
  readonly session: LiveSession
  /** The rights under which this request changes something. */
  readonly authority: Authority
}

/** A parsed and authorised request. */
export interface Call<Id extends OperationId> {
  readonly params: ParamsOf<OperationOf<Id>>
  readonly query: QueryOf<OperationOf<Id>>
  readonly body: BodyOf<OperationOf<Id>>
  /** The body as it was sent, validated; resources are stored in this form. */
  readonly json: Fields
  /** The version of `if-match` that the change is based on. Absent: any. */
  readonly version?: number
  readonly caller: (typeof PERMISSIONS)[Id] extends 'anyone' ? undefined : Caller
  /** Each transaction checks again that the caller may still make the change. */
  readonly context: (typeof PERMISSIONS)[Id] extends 'anyone' ? AnonymousContext : Context
  /** The client's address: behind trusted proxies the one that they report. */
  readonly address: string
  /** The device cookie of the browser from an earlier log-in of any user. */
  readonly device?: string
  /** The credential that came with an operation for anyone: a log-in by cookie ends its session. Absent with a caller. */
  readonly replaced?: PresentedCredential
  readonly requestId: string
  /** Whether the client has disconnected; for requests that wait in a queue. */
  readonly hasLeft: () => boolean
  /** Aborted when the client has disconnected, or has its whole answer. */
  readonly left: AbortSignal
  /** @throws {ApiError} cross_site if a page of another site caused the request. */
  readonly assertSameSite: () => void
}

/** The body of an answer; of a stream, its events. */
type BodyOfReply<Id extends OperationId> = OperationOf<Id>['answer'] extends { readonly isStream: true }
  ? AsyncIterable<AnswerOf<OperationOf<Id>>>
  : AnswerOf<OperationOf<Id>>

/** The answer of a handler. */
export interface Reply<Id extends OperationId> {
  readonly body: BodyOfReply<Id>
  /** The version for `if-match`. */
  readonly etag?: number
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** For the log, if there was no caller. */
  readonly user?: string
}

export type Handler<Id extends OperationId> = (call: Call<Id>) => Promise<Reply<Id>>

/** One handler per operation: a missing one does not compile. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }

/** The handlers of some operations. */
export type HandlersOf<Ids extends OperationId> = Pick<Handlers, Ids>
