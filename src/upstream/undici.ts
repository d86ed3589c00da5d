/**
 * All parts of undici below its package entry point that the gateway relies on.
 *
 * Imports only the modules that are used: the entry point also loads `fetch`, WebSockets and caches, a hundred modules
 * that cost 90 ms at each start. A test ensures that these are the same objects that the package exports.
 *
 * Only the package entry point installs `request` as a method of its clients: here it is a function.
 */
import type { Socket } from 'node:net'
import symbols from 'undici/lib/core/symbols.js'
import Client from 'undici/lib/dispatcher/client.js'

export { default as request } from 'undici/lib/api/api-request.js'
export { default as buildConnector } from 'undici/lib/core/connect.js'
export { Client }

// Node detects no named exports in this CommonJS module: unbundled, as in worker threads of tests, it has only a default.
const { kParser, kSocket } = symbols

/** The part of undici's parser that is used here. */
interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number
}

type Connected = Client & { readonly [kSocket]?: Socket & { readonly [kParser]?: Partial<Parser> } }

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
