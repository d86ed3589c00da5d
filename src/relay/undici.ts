/**
 * What the relay needs of undici, by its own modules: the package as a whole brings `fetch`, WebSockets and caches, a
 * hundred modules and 90 ms of each start, of which nothing here makes use. A test holds that these are the very
 * parts that the package gives out.
 *
 * Only the whole package gives its clients `request` and its like as methods: here it is a function.
 */
import symbols from 'undici/lib/core/symbols.js'

export { default as request } from 'undici/lib/api/api-request.js'
export { default as buildConnector } from 'undici/lib/core/connect.js'
export { default as Client } from 'undici/lib/dispatcher/client.js'

// Node finds no names in this CommonJS module: unbundled, as threads of tests run it, it has a default only.
export const { kParser, kSocket } = symbols
