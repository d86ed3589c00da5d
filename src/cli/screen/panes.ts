import type {
  EndpointLiveStats,
  Flow,
  GatewayLiveStats,
  KeyLiveStats,
  LiveStats,
  Rejection,
} from '../../services/live-stats/types.ts'
import { agoText, figure, latencyText, shareText } from '../output/figures.ts'
import type { PaneColumn, Tone } from './lines.ts'

export interface PaneRow {
  /** The filter and the selection use it. */
  readonly name: string
  /** One text for each column. */
  readonly cells: readonly string[]
  /** One value for each column: texts sort from A, numbers from the largest. */
  readonly values: readonly (string | number)[]
  readonly tone: Tone
}

export const PANES = ['endpoints', 'models', 'keys', 'rejections', 'gateways'] as const
export type PaneName = (typeof PANES)[number]

export interface Pane {
  readonly name: PaneName
  /** The first one takes the remaining width. */
  readonly columns: readonly PaneColumn[]
  readonly rows: readonly PaneRow[]
  /** The default sort column. */
  readonly sort: number
  /** The text for a pane without rows. */
  readonly empty: string
}

const left = (title: string, width: number): PaneColumn => ({ title, width, align: 'left' })
const right = (title: string, width: number): PaneColumn => ({ title, width, align: 'right' })
const NAME_WIDTH = 12

const COLUMNS: Readonly<Record<PaneName, readonly PaneColumn[]>> = {
  endpoints: [
    left('ENDPOINT', NAME_WIDTH),
    left('HEALTH', 9),
    right('REQ/S', 6),
    right('TOK/S', 6),
    right('P50', 6),
    right('P95', 6),
    right('FAILED', 6),
  ],
  models: [left('MODEL', NAME_WIDTH), right('REQ/S', 6), right('TOK/S', 6), right('P95', 6)],
  keys: [left('KEY', NAME_WIDTH), left('NEAREST LIMIT', 13), right('USED', 5)],
  rejections: [left('REJECTION', NAME_WIDTH), right('PER S', 6), right('TOTAL', 6)],
  gateways: [left('GATEWAY', NAME_WIDTH), left('STATE', 11), right('REV', 6), right('OPEN', 5)],
}
const SORTS: Readonly<Record<PaneName, number>> = {
  // Failed ones come first.
  endpoints: 1,
  models: 1,
  keys: 2,
  rejections: 1,
  gateways: 0,
}

/** The content of all panes. */
export function panesOf(liveStats: LiveStats): Readonly<Record<PaneName, Pane>> {
  const pane = (name: PaneName, rows: readonly PaneRow[], empty: string): Pane => ({
    name,
    columns: COLUMNS[name],
    rows,
    sort: SORTS[name],
    empty,
  })
  const { endpoints, models, keys, rejections, gateways } = liveStats
  return {
    endpoints: pane('endpoints', endpoints.map(endpointRow), 'no endpoint'),
    models: pane('models', models.map(modelRow), 'no traffic'),
    keys: pane('keys', keys.filter(({ limits }) => limits.length > 0).map(keyRow), 'no key has a limit'),
    rejections: pane('rejections', (rejections ?? []).map(rejectionRow), rejections ? 'none' : 'unknown'),
    gateways: pane('gateways', gateways.map(gatewayRow), 'none'),
  }
}

const HEALTH_ORDER = { unhealthy: 0, unknown: 1, healthy: 2, disabled: 3 } as const

function endpointRow(endpoint: EndpointLiveStats): PaneRow {
  const { name, state, requestsPerSecond, tokensPerSecond, p50Ms, p95Ms, failed } = endpoint
  return {
    name,
    cells: [
      name,
      state,
      figure(requestsPerSecond),
      figure(tokensPerSecond),
      latencyText(p50Ms),
      latencyText(p95Ms),
      failed === 0 ? '-' : shareText(failed),
    ],
    values: [
      name,
      `${HEALTH_ORDER[state]} ${name}`,
      requestsPerSecond,
      tokensPerSecond,
      p50Ms ?? 0,
      p95Ms ?? 0,
      failed,
    ],
    tone: state === 'unhealthy' ? 'bad' : state === 'disabled' ? 'faint' : failed > 0.05 ? 'warn' : 'plain',
  }
}

function modelRow({ name, requestsPerSecond, tokensPerSecond, p95Ms }: Flow): PaneRow {
  return {
    name,
    cells: [name, figure(requestsPerSecond), figure(tokensPerSecond), latencyText(p95Ms)],
    values: [name, requestsPerSecond, tokensPerSecond, p95Ms ?? 0],
    tone: 'plain',
  }
}

function keyRow({ name, limits }: KeyLiveStats): PaneRow {
  const [nearest] = limits
  const share = nearest?.share ?? 0
  return {
    name,
    cells: [name, nearest?.limit ?? '-', shareText(share)],
    values: [name, nearest?.limit ?? '', share],
    tone: share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'plain',
  }
}

function rejectionRow({ reason, perSecond, total }: Rejection): PaneRow {
  return {
    name: reason,
    cells: [reason, figure(perSecond), figure(total)],
    values: [reason, perSecond, total],
    tone: perSecond > 0 ? 'warn' : 'plain',
  }
}

function gatewayRow({ name, state, revision, isBehind, inFlight }: GatewayLiveStats): PaneRow {
  return {
    name,
    cells: [name, state, `${revision}${isBehind ? '!' : ''}`, figure(inFlight)],
    values: [name, state, revision, inFlight],
    tone: state === 'silent' ? 'bad' : state !== 'ok' || isBehind ? 'warn' : 'plain',
  }
}

/** The details of one row, one fact per line; useful commands follow after an empty line. */
export function detailsOf(liveStats: LiveStats, pane: PaneName, name: string): readonly string[] | undefined {
  const named = <Row extends { readonly name: string }>(rows: readonly Row[]) =>
    rows.find(row => row.name === name)
  if (pane === 'endpoints') return flowDetails(named(liveStats.endpoints), name, 'endpoint')
  if (pane === 'models') return flowDetails(named(liveStats.models), name, 'model')
  if (pane === 'keys') return keyDetails(named(liveStats.keys))
  if (pane === 'gateways') return gatewayDetails(named(liveStats.gateways), liveStats.atMs)
  const rejection = liveStats.rejections?.find(({ reason }) => reason === name)
  return (
    rejection && [
      `per second   ${figure(rejection.perSecond)}`,
      `total        ${rejection.total} since the start of the gateway`,
      '',
      `gw explain ${name}`,
    ]
  )
}

function flowDetails(
  flow: (Flow & Partial<Pick<EndpointLiveStats, 'state' | 'reason'>>) | undefined,
  name: string,
  of: 'endpoint' | 'model',
): readonly string[] | undefined {
  if (flow === undefined) return undefined
  const { requestsPerSecond, tokensPerSecond, p50Ms, p95Ms, failed, results } = flow
  return [
    ...(flow.state === undefined ? [] : [`health       ${flow.state}`]),
    ...(flow.reason === undefined ? [] : [`reason       ${flow.reason}`]),
    `requests     ${figure(requestsPerSecond)}/s`,
    `tokens       ${figure(tokensPerSecond)}/s`,
    `latency      ${latencyText(p50Ms)} half of them, ${latencyText(p95Ms)} 95 of 100`,
    `failed       ${failed === 0 ? 'none' : shareText(failed)}`,
    ...results.map(([result, count]) => `${result.padEnd(11)}  ${figure(count)}`),
    '',
    ...(of === 'endpoint' ? [`gw probe ${name}`] : []),
    `gw logs --${of} ${name} --follow`,
  ]
}

function keyDetails(key: KeyLiveStats | undefined): readonly string[] | undefined {
  if (key === undefined) return undefined
  return [
    ...(key.tenant === undefined ? [] : [`tenant       ${key.tenant}`]),
    `requests     ${figure(key.requestsPerSecond)}/s`,
    `tokens       ${figure(key.tokensPerSecond)}/s`,
    ...key.limits.map(
      ({ limit, used, of, share }) => `${limit.padEnd(11)}  ${used} of ${of} (${shareText(share)})`,
    ),
    '',
    `gw keys show ${key.name}`,
    `gw usage --key ${key.name} --by day`,
  ]
}

function gatewayDetails(gateway: GatewayLiveStats | undefined, nowMs: number): readonly string[] | undefined {
  if (gateway === undefined) return undefined
  const { url, version, startedAtMs, state, revision, isBehind, inFlight, reasons } = gateway
  return [
    ...(url === undefined ? [] : [`address      ${url}`]),
    ...(version === undefined ? [] : [`version      ${version}`]),
    ...(startedAtMs === undefined ? [] : [`up for       ${agoText(nowMs - startedAtMs)}`]),
    `state        ${state}`,
    `revision     ${revision}${isBehind ? ', behind the store' : ''}`,
    `open         ${inFlight} requests`,
    ...(reasons.length > 0 ? ['', ...reasons] : []),
  ]
}
