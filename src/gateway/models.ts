import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import { sendJson } from '../http/json.ts'
import { checkStanding, isVisible } from '../limits/authorise.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import { idHeaders, setHeaders } from './error-response.ts'
import { enter, type PipelinePorts } from './pipeline.ts'
import type { RequestContext } from './request-context.ts'

const MAX_PAGE = 1_000

/**
 * `GET /v1/models`: the models of this key, in a format that both SDKs read (spec/wire.md §2). Without `limit` it lists
 * all of them, as OpenAI clients expect; `limit`, `after_id` and `before_id` page like Anthropic's API.
 */
export function listModels(
  req: IncomingMessage,
  res: ServerResponse,
  query: string,
  context: RequestContext,
  ports: PipelinePorts,
): void {
  const visible = visibleModels(req, context, ports)
  const { page, hasMore } = pageOf(visible, new URLSearchParams(query))
  const ids = [page[0], page.at(-1)].map(entry => JSON.stringify(entry?.name ?? null))
  const data = page.map(entry => entry.listing).join(',')
  send(
    res,
    `{"object":"list","data":[${data}],"has_more":${hasMore},"first_id":${ids[0]},"last_id":${ids[1]}}`,
    context,
  )
}

/** `GET /v1/models/{id}`: one model. The id may contain slashes, plain or percent-encoded. */
export function showModel(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  context: RequestContext,
  ports: PipelinePorts,
): void {
  const visible = visibleModels(req, context, ports)
  const id = path.slice('/v1/models/'.length)
  const decoded = percentDecoded(id)
  const found = visible.find(({ name }) => name === id) ?? visible.find(({ name }) => name === decoded)
  if (!found) throw new GwError('model_not_found', 'No model of this name is listed for this key.')
  send(res, found.listing, context)
}

function visibleModels(
  req: IncomingMessage,
  context: RequestContext,
  ports: PipelinePorts,
): PublicationEntry[] {
  const { snapshot, key } = enter(req, context, ports)
  checkStanding(key, snapshot)
  return [...snapshot.publications.values()].filter(publication => isVisible(key, publication))
}

function pageOf(
  all: readonly PublicationEntry[],
  query: URLSearchParams,
): { page: readonly PublicationEntry[]; hasMore: boolean } {
  const limit = pageSize(query.get('limit'), all.length)
  const after = positionOf(all, query.get('after_id'), 'after_id')
  const before = positionOf(all, query.get('before_id'), 'before_id')
  if (before !== undefined) {
    const rest = all.slice(after === undefined ? 0 : after + 1, before)
    return { page: rest.slice(-limit), hasMore: rest.length > limit }
  }
  const rest = all.slice(after === undefined ? 0 : after + 1)
  return { page: rest.slice(0, limit), hasMore: rest.length > limit }
}

function pageSize(value: string | null, all: number): number {
  if (value === null) return Math.max(all, 1)
  if (!/^[1-9]\d{0,3}$/.test(value) || Number(value) > MAX_PAGE) {
    throw new GwError('invalid_parameter', `\`limit\` must be a whole number from 1 to ${MAX_PAGE}.`, {
      param: 'limit',
    })
  }
  return Number(value)
}

function positionOf(all: readonly PublicationEntry[], id: string | null, param: string): number | undefined {
  if (id === null) return undefined
  const position = all.findIndex(({ name }) => name === id)
  if (position === -1)
    throw new GwError('invalid_parameter', `\`${param}\` names no model of this list.`, { param })
  return position
}

function percentDecoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    // Not percent-encoded: use the id as received.
    return id
  }
}

function send(res: ServerResponse, body: string, context: RequestContext): void {
  setHeaders(res, context.corsHeaders)
  sendJson(res, 200, body, {
    ...idHeaders(context.protocol, context.requestId),
    'x-gw-revision': String(context.revision),
  })
}
