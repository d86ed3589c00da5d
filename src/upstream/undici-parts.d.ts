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

  /** The package entry point installs this as a method of its clients. */
  export default function request(
    this: Client,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>
}
