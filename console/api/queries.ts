import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Api, dataOf, sessionOf } from './client.ts'
import type { operations } from './schema.d.ts'

type QueryOf<Id extends keyof operations> = NonNullable<operations[Id]['parameters']['query']>

/** How many rows a list loads at a time. */
const PAGE = 100
/** The most that the control plane gives at a time: for lists that are read whole. */
const LARGEST_PAGE = 500

/** A list in pages: `data` has those that were loaded. */
function pages<Row>(
  key: readonly unknown[],
  load: (cursor: { cursor?: string }) => Promise<{ data: readonly Row[]; next_cursor: string | null }>,
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam === undefined ? {} : { cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    select: ({ pages: loaded }) => loaded.flatMap(page => page.data),
  })
}

/** All rows of a list. */
async function allRows<Row>(
  load: (page: {
    limit: number
    cursor?: string
  }) => Promise<{ data: readonly Row[]; next_cursor: string | null }>,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  let cursor: string | null = null
  do {
    const page = await load({ limit: LARGEST_PAGE, ...(cursor !== null && { cursor }) })
    rows.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return rows
}

/** The names of the rows, for fields that choose one. */
async function allNames(load: Parameters<typeof allRows<{ name: string }>>[0]): Promise<readonly string[]> {
  return (await allRows(load)).map(({ name }) => name)
}

/** Which nodes are connected makes no revision and no event: their pages ask again. */
export const REFRESH_MS = 3_000

/** The queries of the pages. The first part of each key is what the query is about. */
export function queriesOf(api: Api) {
  return {
    session: () => queryOptions({ queryKey: ['session'], queryFn: () => sessionOf(api) }),
    status: () => queryOptions({ queryKey: ['status'], queryFn: () => dataOf(api.GET('/api/v1/status')) }),
    liveStats: () =>
      queryOptions({ queryKey: ['live-stats'], queryFn: () => dataOf(api.GET('/api/v1/pulse')) }),
    endpoints: (query: Omit<QueryOf<'list_endpoints'>, 'limit' | 'cursor'> = {}) =>
      pages(['endpoints', query], cursor =>
        dataOf(api.GET('/api/v1/endpoints', { params: { query: { limit: PAGE, ...query, ...cursor } } })),
      ),
    endpoint: (name: string) =>
      queryOptions({
        queryKey: ['endpoints', name],
        queryFn: () => dataOf(api.GET('/api/v1/endpoints/{name}', { params: { path: { name } } })),
      }),
    nodes: (query: Omit<QueryOf<'list_nodes'>, 'limit' | 'cursor'> = {}) =>
      pages(['nodes', query], cursor =>
        dataOf(api.GET('/api/v1/nodes', { params: { query: { limit: PAGE, ...query, ...cursor } } })),
      ),
    node: (name: string) =>
      queryOptions({
        queryKey: ['nodes', name],
        queryFn: () => dataOf(api.GET('/api/v1/nodes/{name}', { params: { path: { name } } })),
      }),
    joinTokens: () =>
      pages(['join-tokens'], cursor =>
        dataOf(api.GET('/api/v1/join-tokens', { params: { query: { limit: PAGE, ...cursor } } })),
      ),
    publications: (query: Omit<QueryOf<'list_publications'>, 'limit' | 'cursor'> = {}) =>
      pages(['publications', query], cursor =>
        dataOf(api.GET('/api/v1/publications', { params: { query: { limit: PAGE, ...query, ...cursor } } })),
      ),
    publication: (name: string) =>
      queryOptions({
        queryKey: ['publications', name],
        queryFn: () => dataOf(api.GET('/api/v1/publications/{name}', { params: { path: { name } } })),
      }),
    models: () =>
      pages(['models'], cursor =>
        dataOf(api.GET('/api/v1/models', { params: { query: { limit: PAGE, ...cursor } } })),
      ),
    bindings: (query: Omit<QueryOf<'list_bindings'>, 'limit' | 'cursor'>) =>
      pages(['bindings', query], cursor =>
        dataOf(
          api.GET('/api/v1/bindings', { params: { query: { limit: LARGEST_PAGE, ...query, ...cursor } } }),
        ),
      ),
    /** How many endpoints each model is bound to. */
    bindingCounts: () =>
      queryOptions({
        queryKey: ['bindings', { of: 'publications' }],
        queryFn: async ({ signal }) => {
          const counts = new Map<string, number>()
          for (const { publication } of await allRows(query =>
            dataOf(api.GET('/api/v1/bindings', { params: { query }, signal })),
          ))
            counts.set(publication, (counts.get(publication) ?? 0) + 1)
          return counts
        },
      }),
    endpointNames: () =>
      queryOptions({
        queryKey: ['names', { of: 'endpoints' }],
        queryFn: ({ signal }) =>
          allNames(query => dataOf(api.GET('/api/v1/endpoints', { params: { query }, signal }))),
      }),
    tenantNames: () =>
      queryOptions({
        queryKey: ['names', { of: 'tenants' }],
        queryFn: ({ signal }) =>
          allNames(query => dataOf(api.GET('/api/v1/tenants', { params: { query }, signal }))),
      }),
    modelNames: () =>
      queryOptions({
        queryKey: ['names', { of: 'models' }],
        queryFn: ({ signal }) =>
          allNames(query => dataOf(api.GET('/api/v1/models', { params: { query }, signal }))),
      }),
    tenants: (query: Omit<QueryOf<'list_tenants'>, 'limit' | 'cursor'> = {}) =>
      pages(['tenants', query], cursor =>
        dataOf(api.GET('/api/v1/tenants', { params: { query: { limit: PAGE, ...query, ...cursor } } })),
      ),
    tenant: (name: string) =>
      queryOptions({
        queryKey: ['tenants', name],
        queryFn: () => dataOf(api.GET('/api/v1/tenants/{name}', { params: { path: { name } } })),
      }),
    wallet: (name: string) =>
      queryOptions({
        queryKey: ['wallets', name],
        queryFn: () => dataOf(api.GET('/api/v1/tenants/{name}/wallet', { params: { path: { name } } })),
      }),
    walletEntries: (name: string) =>
      pages(['wallets', name, 'entries'], cursor =>
        dataOf(
          api.GET('/api/v1/tenants/{name}/wallet/entries', {
            params: { path: { name }, query: { limit: 50, ...cursor } },
          }),
        ),
      ),
    keys: (query: Omit<QueryOf<'list_keys'>, 'limit' | 'cursor'> = {}) =>
      pages(['keys', query], cursor =>
        dataOf(api.GET('/api/v1/keys', { params: { query: { limit: PAGE, ...query, ...cursor } } })),
      ),
    key: (name: string) =>
      queryOptions({
        queryKey: ['keys', name],
        queryFn: () => dataOf(api.GET('/api/v1/keys/{name}', { params: { path: { name } } })),
      }),
    usage: (query: QueryOf<'get_usage'>) =>
      queryOptions({
        queryKey: ['usage', query],
        queryFn: () => dataOf(api.GET('/api/v1/usage', { params: { query } })),
      }),
    calls: (query: Omit<QueryOf<'list_calls'>, 'cursor'>) =>
      pages(['calls', query], cursor =>
        dataOf(api.GET('/api/v1/call-logs', { params: { query: { ...query, ...cursor } } })),
      ),
    /** Also new with each event of new calls. */
    rejections: (query: Omit<QueryOf<'list_rejections'>, 'cursor'>) =>
      pages(['calls', 'rejected', query], cursor =>
        dataOf(api.GET('/api/v1/rejected-calls', { params: { query: { ...query, ...cursor } } })),
      ),
    why: (query: QueryOf<'explain'>) =>
      queryOptions({
        queryKey: ['why', query],
        queryFn: () => dataOf(api.GET('/api/v1/why', { params: { query } })),
        staleTime: 0,
      }),
    revisions: () =>
      pages(['revisions'], cursor =>
        dataOf(api.GET('/api/v1/config/revisions', { params: { query: { limit: 50, ...cursor } } })),
      ),
    sets: () => queryOptions({ queryKey: ['sets'], queryFn: () => dataOf(api.GET('/api/v1/config/sets')) }),
    exported: (set?: string) =>
      queryOptions({
        queryKey: ['exported', set],
        queryFn: () =>
          dataOf(api.GET('/api/v1/config/export', { params: { query: set === undefined ? {} : { set } } })),
      }),
    revision: (id: number, since?: number) =>
      queryOptions({
        queryKey: ['revisions', id, since],
        queryFn: () =>
          dataOf(
            api.GET('/api/v1/config/revisions/{id}', {
              params: { path: { id }, query: since === undefined ? {} : { since } },
            }),
          ),
      }),
    maintenance: () =>
      queryOptions({ queryKey: ['maintenance'], queryFn: () => dataOf(api.GET('/api/v1/maintenance')) }),
    audit: (query: Omit<QueryOf<'list_audit'>, 'cursor'>) =>
      pages(['audit', query], cursor =>
        dataOf(api.GET('/api/v1/audit', { params: { query: { ...query, ...cursor } } })),
      ),
    users: () =>
      pages(['users'], cursor =>
        dataOf(api.GET('/api/v1/users', { params: { query: { limit: PAGE, ...cursor } } })),
      ),
    tokens: (user?: string) =>
      pages(['tokens', user], cursor =>
        dataOf(
          api.GET('/api/v1/tokens', {
            params: { query: { limit: PAGE, ...(user !== undefined && { user }), ...cursor } },
          }),
        ),
      ),
  }
}

export type Queries = ReturnType<typeof queriesOf>
