import type { z } from 'zod'
import type { ApiCode } from '../../base/catalogue/api.ts'

/** The tags of the operations, in the order of the document. */
export const TAGS = {
  session: 'Log in and out.',
  users: 'Users of the control plane.',
  tokens: 'Personal access tokens, for scripts and CI.',
  endpoints: 'Upstreams: model servers, or accounts at a vendor.',
  nodes: 'Machines that dial in and serve models.',
  publications: 'Public model names.',
  bindings: 'Connections of publications with endpoints.',
  tenants: 'Customers or teams.',
  wallet: 'Balances of tenants, and their entries.',
  keys: 'API keys for inference: policies, secrets, and suspension in an incident.',
  usage: 'Usage and its cost.',
  'call-logs': 'A line for each call.',
  config: 'The configuration as a document, and its history.',
  maintenance: 'In maintenance mode inference answers 503.',
  status: 'The status of this process.',
  why: 'Why a call would be served or rejected.',
  audit: 'The audit log: who changed what, when and from where.',
} as const
export type Tag = keyof typeof TAGS

/** The answer of an operation on success; `errors` lists its errors. */
export interface Answer {
  readonly status: 200 | 201 | 204
  readonly description: string
  /** The JSON schema of the body. Absent with 204. */
  readonly schema?: z.ZodType
  /** The answer carries an `etag` for `if-match`. */
  readonly etag?: true
  /** Server-sent events, each of this schema. */
  readonly isStream?: true
}

/**
 * One operation of the control plane, as data: the router, the OpenAPI document and the tests are generated from it.
 * Only these schemas validate bodies and queries; an unknown field is a 422.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; each `{parameter}` is one whole segment, and a member of `params`. */
  readonly path: `/${string}`
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answer: Answer
  /** Errors beyond those that its shape implies: 401, 403, 405, 413, 415, 422, 428 and so on. */
  readonly errors?: readonly ApiCode[]
  /** Whether `if-match` is required or optional. */
  readonly ifMatch?: 'required' | 'optional'
  /**
   * The kind that `{name}` refers to, if tenants may call the operation: the server first rejects a resource of another
   * tenant.
   */
  readonly target?: 'tenant' | 'key' | 'token'
  /** Personal access tokens are not accepted. */
  readonly needsSession?: true
  /** The operation changes nothing, whatever its method; others leave a line in the audit log. */
  readonly isReadOnly?: true
  /** The operation sends requests to addresses of the caller's choice: not for tokens of the scope `read`. */
  readonly sendsRequests?: true
}

/** Types of handlers, derived from the table. */
export type ParamsOf<O extends Operation> = O['params'] extends z.ZodType ? z.output<O['params']> : undefined
export type QueryOf<O extends Operation> = O['query'] extends z.ZodType ? z.output<O['query']> : undefined
export type BodyOf<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined
export type AnswerOf<O extends Operation> = O['answer'] extends { readonly schema: infer Schema }
  ? Schema extends z.ZodType
    ? z.input<Schema>
    : undefined
  : undefined
