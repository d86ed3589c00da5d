import type { Command } from 'commander'
import { counted } from '../app/counted.ts'
import { agoText, figure } from '../app/pulse/figures.ts'
import type { EndpointPulse, GatewayPulse } from '../app/pulse/types.ts'
import { unansweredText } from '../app/pulse/unanswered.ts'
import { type Status, type StoreStatus, statusNow } from '../app/status.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { formatNano } from '../base/decimal.ts'
import type { Json } from '../schema/kinds.ts'
import { noUrlOption } from './control-address.ts'
import { gatewayAddress, pulseSources } from './gateway-address.ts'
import { moneyText } from './money-text.ts'
import { endpointToJson, pulseToJson } from './pulse-text.ts'
import { appPorts, type Bind } from './session.ts'
import { printable, type Style } from './style.ts'
import { type Column, table } from './table.ts'
import { verb } from './verb.ts'
import { wrapped } from './wrapped.ts'

interface Options {
  readonly gateway?: string
  readonly exitCode?: true
}

/** `gw status`: which gateways serve what, and what is not as it should be. */
export function statusCommand(bind: Bind): Command {
  return verb('status', 'Say which gateways serve which revision, and what is not as it should be.', [
    'gw status',
    'gw status --format json | jq .troubles',
    'gw status --exit-code || page-somebody     # 5 where something is not as it should be',
    'gw status --gateway http://10.0.0.5:8090   # a gateway elsewhere',
  ])
    .option('--gateway <url>', 'a gateway elsewhere (default: those that serve the store)', gatewayAddress)
    .addOption(noUrlOption())
    .option('--exit-code', 'end with 5 where something is not as it should be')
    .addHelpText(
      'after',
      '\nAn endpoint is `unknown` until it has answered or failed: `gw probe` asks. With --gateway the health of\nendpoints is known with METRICS_TOKEN alone, that of `gw serve`.\n',
    )
    .action(
      bind<Options>(async (session, _args, { gateway, exitCode }) => {
        const { out } = session
        const status = await statusNow(pulseSources(session, gateway), appPorts(session))
        for (const remark of status.pulse.remarks) out.talk(remark)
        out.result({ text: () => toText(status, out.style, out.width), json: () => toJson(status) })
        return exitCode && status.troubles.length > 0 ? EXIT.unhealthy : EXIT.done
      }),
    )
}

function toText({ pulse, store, troubles }: Status, style: Style, width: number | undefined): string {
  const { gateways, endpoints, atMs } = pulse
  const unanswered = unansweredText(pulse.unanswered)
  const parts = [
    ...(store ? [storeText(store, atMs, width)] : []),
    ...(gateways.length > 0 ? [table(gatewayColumns(atMs), gateways, style, width)] : []),
    ...(endpoints.length > 0 ? [table(endpointColumns(atMs), endpoints, style, width)] : []),
    (unanswered === undefined ? '' : wrapped(unanswered, width, 0)) +
      verdict(troubles, unanswered, style, width),
  ]
  return parts.join('\n')
}

function verdict(
  troubles: readonly string[],
  unanswered: string | undefined,
  style: Style,
  width: number | undefined,
): string {
  if (troubles.length === 0)
    return unanswered === undefined ? 'Everything is as it should be.\n' : 'Nothing is known to be wrong.\n'
  return troubles
    .map(trouble => `${style.removed('!')} ${wrapped(printable(trouble), width, 2).slice(2)}`)
    .join('')
}

function storeText(
  { revision, resources, maintenance, lastHour, currency }: StoreStatus,
  nowMs: number,
  width: number | undefined,
): string {
  const census = Object.entries(resources).filter(([kind]) => kind !== 'settings')
  const by = revision?.author === undefined ? '' : ` by ${printable(revision.author)}`
  const lines = [
    revision
      ? `Revision ${revision.id}, ${agoText(nowMs - revision.createdAtMs)} ago${by}: ${census
          .map(([kind, count]) => counted(count, kind))
          .join(', ')}.`
      : 'Nothing was applied yet.',
    `Last hour: ${counted(lastHour.requests, 'request')}, ${figure(lastHour.tokens)} tokens, ${moneyText(lastHour.amountNano, currency)}.`,
    ...(maintenance.on ? [`Maintenance is on. Clients are told: ${printable(maintenance.message)}`] : []),
  ]
  return lines.map(line => wrapped(line, width, 0)).join('')
}

function gatewayColumns(nowMs: number): readonly Column<GatewayPulse>[] {
  return [
    { title: 'GATEWAY', cell: ({ name }) => name, narrowest: 8 },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'REVISION', cell: ({ revision }) => String(revision), align: 'right' },
    { title: 'OPEN', cell: ({ inFlight }) => String(inFlight), align: 'right' },
    {
      title: 'UP',
      cell: ({ startedAtMs }) => (startedAtMs === undefined ? '-' : agoText(nowMs - startedAtMs)),
    },
    { title: 'ADDRESS', cell: ({ url }) => url ?? '-', narrowest: 10, dispensable: true },
  ]
}

function endpointColumns(nowMs: number): readonly Column<EndpointPulse>[] {
  return [
    { title: 'ENDPOINT', cell: ({ name }) => name, narrowest: 12 },
    { title: 'HEALTH', cell: ({ state }) => state },
    { title: 'SINCE', cell: ({ sinceMs }) => (sinceMs === undefined ? '-' : agoText(nowMs - sinceMs)) },
    { title: 'REASON', cell: ({ reason }) => reason ?? '-', narrowest: 10, dispensable: true },
  ]
}

function toJson({ pulse, store, troubles }: Status): Json {
  const { at, store_revision: storeRevision, gateways, remarks } = pulseToJson(pulse)
  return {
    at: at ?? null,
    store_revision: storeRevision ?? null,
    troubles: [...troubles],
    gateways: gateways ?? [],
    endpoints: pulse.endpoints.map(endpointToJson),
    unanswered: pulse.unanswered,
    ...(store && storeToJson(store)),
    remarks: remarks ?? [],
  }
}

function storeToJson({ revision, resources, maintenance, lastHour, currency }: StoreStatus): {
  readonly [member: string]: Json
} {
  return {
    revision: revision
      ? {
          id: revision.id,
          at: new Date(revision.createdAtMs).toISOString(),
          author: revision.author ?? null,
          git_commit: revision.gitCommit ?? null,
        }
      : null,
    resources: { ...resources },
    maintenance: maintenance.on,
    last_hour: {
      requests: lastHour.requests,
      tokens: lastHour.tokens,
      amount: formatNano(lastHour.amountNano),
      currency,
    },
  }
}
