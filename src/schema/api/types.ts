import type { z } from 'zod'
import type { ApiCode } from '../../base/catalogue/api.ts'

/** The parts of the control plane, in the order in which its document lists them. */
export const TAGS = {
  session: 'Logging in and out.',
  users: 'People who may log in.',
  tokens: 'Personal access tokens, for scripts and CI.',
  endpoints: 'Upstreams: model servers, or accounts at a vendor.',
  publications: 'Public model names.',
  bindings: 'Which endpoint serves which publication.',
  tenants: 'Customers or teams.',
  wallet: 'What tenants have paid in, and what became of it.',
  keys: 'API keys for inference: their policies, their secrets, and the switches for an incident.',
  usage: 'What was used, and what it cost.',
  'call-logs': 'A line for each call.',
  config: 'The configuration as a document, and its history.',
  maintenance: 'Inference answers 503 while it is on.',
  status: 'What is served now.',
  why: 'Why a call would be served or rejected.',
  audit: 'Who changed what, when, from where.',
} as const
export type Tag = keyof typeof TAGS

/** What an operation answers where all went well; what else it may answer is in `errors`. */
export interface Answer {
  readonly status: 200 | 201 | 204
  readonly description: string
  /** The wire form of its JSON. Absent with 204. */
  readonly schema?: z.ZodType
  /** It carries an `etag` for `if-match`. */
  readonly etag?: true
}

/**
 * One thing that the control plane can do, as data: the router, the OpenAPI document and the tests are made from it.
 * Bodies and queries are read by these schemas and by nothing else; a field that they do not name is a 422.
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
  /** Beyond those that its shape entails: 401, 403, 405, 413, 415, 422, 428 and so on. */
  readonly errors?: readonly ApiCode[]
  /** Whether `if-match` must be sent, or is heeded where it is. */
  readonly ifMatch?: 'required' | 'optional'
  /** What `{name}` names, where a tenant may reach it: the server rejects a foreign one before anything else. */
  readonly target?: 'tenant' | 'key' | 'token'
  /** A personal access token does not open it. */
  readonly needsSession?: true
  /** It asks and changes nothing, whatever its method; others leave a line in the audit. */
  readonly isQuestion?: true
}

/** What follows from the table for the code of a handler. */
export type ParamsOf<O extends Operation> = O['params'] extends z.ZodType ? z.output<O['params']> : undefined
export type QueryOf<O extends Operation> = O['query'] extends z.ZodType ? z.output<O['query']> : undefined
export type BodyOf<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined
export type AnswerOf<O extends Operation> = O['answer'] extends { readonly schema: infer Schema }
  ? Schema extends z.ZodType
    ? z.input<Schema>
    : undefined
  : undefined
