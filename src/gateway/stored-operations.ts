import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import { admit, checkStanding } from '../limits/authorise.ts'
import { RESPONSES_PATH, STORED_OPERATIONS, STORED_PREFIX } from '../schema/paths.ts'
import { keeperOf } from '../snapshot/upstream-account.ts'
import { Route } from '../upstream/routing/route.ts'
import { emptyCall } from './call.ts'
import type { Delivered } from './endings.ts'
import { enter, type PipelinePorts, sourceOf } from './pipeline.ts'
import { ProxiedRequest } from './proxied-request.ts'
import type { RequestContext } from './request-context.ts'
import { findStored } from './stored-responses.ts'

const ID_AND_SUFFIX = /^([\w.~:=-]{1,512})(\/[a-z_]+)?$/

/**
 * An operation on a stored response, such as `GET /v1/responses/{id}`: free of charge, limited like `count_tokens`, and
 * forwarded to the endpoint that keeps the response.
 *
 * @throws {GwError} unknown_path, method_not_allowed; response_not_found if the id is unknown, has expired, or belongs to
 * another tenant; no_healthy_endpoint if the endpoint is gone; and the errors of every path.
 */
export async function serveStored(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  query: string,
  context: RequestContext,
  ports: PipelinePorts,
): Promise<Delivered> {
  context.trace = ports.tracer?.begin(req.headers, 'stored_response')
  const { snapshot, key } = enter(req, context, ports)
  const { id, operation } = parse(path, req.method ?? '')
  context.rateHeaders = () => ports.limiter.rateHeaders(operation.protocol, key, 'count')
  checkStanding(key, snapshot)
  // A body means nothing here: it is read only to keep the connection in order.
  req.resume()
  context.bodyRead()
  const stored = await findStored(id, key, ports.ledger)
  const publication = [...snapshot.publications.values()].find(
    ({ account }) => account === stored.publication,
  )
  if (!publication) throw new GwError('response_not_found', 'The model of this response no longer exists.')
  const permit = admit(key, snapshot, publication.name)
  context.model = publication.name
  const keeper = keeperOf(snapshot, stored.endpoint)
  const route = new Route(publication, RESPONSES_PATH, ports.routing, sourceOf(key), keeper)
  context.routedTo(route.target.endpoint)
  const suffix = `${STORED_PREFIX.suffix}${id}${operation.suffix}`
  const request = new ProxiedRequest(
    {
      res,
      context,
      path: { ...operation, suffix },
      query,
      permit,
      call: emptyCall(publication.name),
      content: NO_CONTENT,
      route,
      isStored: true,
    },
    ports,
  )
  await request.open()
  return request.forward()
}

const NO_CONTENT = { textBytes: 0, media: { bound: 0, likely: 0 } } as const

/** @throws {GwError} unknown_path, method_not_allowed. */
function parse(path: string, method: string) {
  const [, id, suffix = ''] = ID_AND_SUFFIX.exec(path.slice(STORED_PREFIX.path.length)) ?? []
  const operations = STORED_OPERATIONS.filter(operation => operation.suffix === suffix)
  // A path of dots would lead elsewhere at the upstream.
  if (id === undefined || /^\.+$/.test(id) || operations.length === 0) throw new GwError('unknown_path')
  const asked = method === 'HEAD' ? 'GET' : method
  const operation = operations.find(({ method: own = 'POST' }) => own === asked)
  if (operation) return { id, operation }
  const allow = operations.map(({ method: own = 'POST' }) => own).join(', ')
  throw new GwError('method_not_allowed', undefined, { headers: { allow } })
}
