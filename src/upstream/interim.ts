import { type Client, kParser, kSocket } from './undici.ts'

/** The part of undici's parser that is used here. */
interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number
}

type Connected = Client & { readonly [kSocket]?: { readonly [kParser]?: Partial<Parser> } }

/** An interim status that undici skips. */
const PROCESSING = 102

/**
 * Makes a client accept an unrequested `100 Continue`, as RFC 9110 §15.2 requires. undici 8 destroys the connection on
 * 100, but skips 102 and 103: so the parser gets 102 instead. Costs one closure for each connection.
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
