import { type Client, kParser, kSocket } from './undici.ts'

/** undici's parser of one connection, as far as it is needed here. */
interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number
}

type Connected = Client & { readonly [kSocket]?: { readonly [kParser]?: Partial<Parser> } }

/** Any interim status that undici passes over. */
const PROCESSING = 102

/**
 * Has a client parse `100 Continue` that it did not ask for, as RFC 9110 §15.2 asks of clients. undici 8 destroys the
 * connection on 100, and passes over 102 and 103: so its parser is told 102. Costs a function for each connection.
 */
export function parseContinue(client: Client): void {
  client.on('connect', onConnect)
}

function onConnect(_origin: URL, [client]: readonly unknown[]): void {
  const parser = (client as Connected)[kSocket]?.[kParser]
  const original = parser?.onHeadersComplete
  if (!parser || !original) return
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    original.call(parser, status === 100 ? PROCESSING : status, upgrade, keepAlive)
}
