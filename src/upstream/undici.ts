/**
 * Imports only the modules of undici that the relay uses: the package entry point also loads `fetch`, WebSockets and
 * caches, a hundred modules that cost 90 ms at each start. A test ensures that these are the same objects that the
 * package exports.
 *
 * Only the package entry point installs `request` as a method of its clients: here it is a function.
 */
import symbols from 'undici/lib/core/symbols.js'

export { default as request } from 'undici/lib/api/api-request.js'
export { default as buildConnector } from 'undici/lib/core/connect.js'
export { default as Client } from 'undici/lib/dispatcher/client.js'

// Node detects no named exports in this CommonJS module: unbundled, as in worker threads of tests, it has only a default.
export const { kParser, kSocket } = symbols
