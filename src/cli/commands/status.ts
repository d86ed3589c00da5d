import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { EndpointLiveStats, GatewayLiveStats } from '../../services/live-stats/types.ts'
import { type Status, type StoreStatus, statusNow, statusToJson } from '../../services/status.ts'
import { gatewayAddress, noUrlOption } from '../addresses.ts'
import { newCommand } from '../new-command.ts'
import { agoText, figure } from '../output/figures.ts'
import { unansweredText } from '../output/live-stats-text.ts'
import { moneyText } from '../output/money-text.ts'
import { printable, type Style } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import { wrapText } from '../output/wrap-text.ts'
import { appPorts, type BindHandler, liveStatsSources } from '../session.ts'

interface Options {
  readonly gateway?: string
  readonly exitCode?: true
}

/** `gw status`: gateways with their revisions, and current problems. */
export function statusCommand(bind: BindHandler): Command {
  return newCommand('status', 'Show the gateways with their revisions, and current problems.', [
    'gw status',
    'gw status --format json | jq .problems',
    'gw status --exit-code || send-alert        # 5 if there are problems',
    'gw status --gateway http://10.0.0.5:8090   # a gateway elsewhere',
  ])
    .option('--gateway <url>', 'a gateway elsewhere (default: those that serve the store)', gatewayAddress)
    .addOption(noUrlOption())
    .option('--exit-code', 'end with 5 if there are problems')
    .addHelpText(
      'after',
      '\nAn endpoint is `unknown` until its first answer or failure; `gw probe` checks it. With --gateway the health of\nendpoints needs METRICS_TOKEN, the one of `gw serve`.\n',
    )
    .action(
      bind<Options>(async (session, _args, { gateway, exitCode }) => {
        const { out } = session
        const status = await statusNow(liveStatsSources(session, gateway), appPorts(session))
        for (const note of status.liveStats.notes) out.info(note)
        out.result({ text: () => toText(status, out.style, out.width), json: () => statusToJson(status) })
        return exitCode && status.problems.length > 0 ? EXIT.unhealthy : EXIT.done
      }),
    )
}

function toText({ liveStats, store, problems }: Status, style: Style, width: number | undefined): string {
  const { gateways, endpoints, atMs } = liveStats
  const unanswered = unansweredText(liveStats.unanswered)
  const parts = [
    ...(store ? [storeText(store, atMs, width)] : []),
    ...(gateways.length > 0 ? [table(gatewayColumns(atMs), gateways, style, width)] : []),
    ...(endpoints.length > 0 ? [table(endpointColumns(atMs), endpoints, style, width)] : []),
    (unanswered === undefined ? '' : wrapText(unanswered, width, 0)) +
      verdict(problems, unanswered, style, width),
  ]
  return parts.join('\n')
}

function verdict(
  problems: readonly string[],
  unanswered: string | undefined,
  style: Style,
  width: number | undefined,
): string {
  if (problems.length === 0) return unanswered === undefined ? 'No problems.\n' : 'No known problems.\n'
  return problems
    .map(problem => `${style.removed('!')} ${wrapText(printable(problem), width, 2).slice(2)}`)
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
          .map(([kind, count]) => pluralize(count, kind))
          .join(', ')}.`
      : 'Nothing was applied yet.',
    `Last hour: ${pluralize(lastHour.requests, 'request')}, ${figure(lastHour.tokens)} tokens, ${moneyText(lastHour.amountNano, currency)}.`,
    ...(maintenance.on ? [`Maintenance is on. Message for clients: ${printable(maintenance.message)}`] : []),
  ]
  return lines.map(line => wrapText(line, width, 0)).join('')
}

function gatewayColumns(nowMs: number): readonly Column<GatewayLiveStats>[] {
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

function endpointColumns(nowMs: number): readonly Column<EndpointLiveStats>[] {
  return [
    { title: 'ENDPOINT', cell: ({ name }) => name, narrowest: 12 },
    { title: 'HEALTH', cell: ({ state }) => state },
    { title: 'SINCE', cell: ({ sinceMs }) => (sinceMs === undefined ? '-' : agoText(nowMs - sinceMs)) },
    { title: 'REASON', cell: ({ reason }) => reason ?? '-', narrowest: 10, dispensable: true },
  ]
}
