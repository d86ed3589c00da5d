declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici'
}
declare module 'undici/lib/core/symbols.js' {
  const kSocket: unique symbol
  const kParser: unique symbol
  const symbols: { readonly kSocket: typeof kSocket; readonly kParser: typeof kParser }
  export default symbols
}
declare module 'undici/lib/api/api-request.js' {
  import type { Client, Dispatcher } from 'undici'

  /** What the package as a whole puts on its clients as a method. */
  export default function request(
    this: Client,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>
}
