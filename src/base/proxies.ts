/** The proxy of an origin according to the environment; undefined for a direct connection. */
export type EnvironmentProxies = (origin: string) => string | undefined

/** The parts of a proxy's address. */
export interface Proxy {
  /** Without user and password. */
  readonly origin: string
  /** The value of `proxy-authorization`; absent without credentials. */
  readonly authorization?: string
}

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/**
 * `HTTPS_PROXY`, `HTTP_PROXY` (or `ALL_PROXY`) and `NO_PROXY`, in upper or lower case, by the rules of curl: the scheme
 * of the origin selects the proxy, `NO_PROXY` lists hosts, domains, `host:port` or `*`.
 */
export function environmentProxies(
  environment: Readonly<Record<string, string | undefined>>,
): EnvironmentProxies {
  const read = (name: string) => (environment[name.toLowerCase()] || environment[name] || '').trim()
  const all = read('ALL_PROXY')
  const bySchema: Readonly<Record<string, string>> = {
    'https:': read('HTTPS_PROXY') || all,
    'http:': read('HTTP_PROXY') || all,
  }
  const excluded = read('NO_PROXY')
    .toLowerCase()
    .split(/[,\s]+/)
    .filter(entry => entry !== '')
  return origin => {
    const url = new URL(origin)
    const proxy = bySchema[url.protocol] ?? ''
    if (proxy === '' || excluded.some(entry => isExcluded(entry, url))) return undefined
    return proxy.includes('://') ? proxy : `http://${proxy}`
  }
}

function isExcluded(entry: string, { hostname, port, protocol }: URL): boolean {
  if (entry === '*') return true
  const [, host = '', wanted] = /^(\[[^\]]*\]|[^:]*(?:::?[^:]*){2,}|[^:]*)(?::(\d+))?$/.exec(entry) ?? []
  if (wanted !== undefined && wanted !== (port || PORTS[protocol])) return false
  const bare = (name: string) => name.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const [name, suffix] = [bare(hostname.toLowerCase()), bare(host).replace(/^\*?\./, '')]
  return suffix !== '' && (name === suffix || name.endsWith(`.${suffix}`))
}

/** @returns undefined if the text is not the address of a proxy. */
export function parseProxy(text: string): Proxy | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined
  const { username, password } = url
  if (username === '' && password === '') return { origin: url.origin }
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { origin: url.origin, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}
