import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import {
  type ForgottenGateway,
  forgetGateway,
  type JoinedGateway,
  listGateways,
  settleForgotten,
} from '../../services/joined-gateways.ts'
import { ALL_ROWS } from '../../services/paging.ts'
import { inStore } from '../in-store.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { agoText } from '../output/figures.ts'
import { printPage } from '../output/output.ts'
import { type Column, table } from '../output/table.ts'
import type { BindHandler } from '../session.ts'

/** `gw gateways`: the gateways that have joined a store, with what they hold. */
export function gatewaysCommand(bind: BindHandler): Command {
  return newCommand('gateways', 'List the gateways of the store, and forget those that will never return.', [
    'gw gateways list',
    'gw gateways forget 5f1c0a9b7d3e2468',
  ])
    .addCommand(listCommand(bind))
    .addCommand(forgetCommand(bind))
}

function listCommand(bind: BindHandler): Command {
  return newCommand('list', 'List the gateways that have joined the store, with what they hold.', [
    'gw gateways list',
    'gw gateways list --format json | jq \'.data[] | select(.state != "alive")\'',
  ])
    .addHelpText(
      'after',
      `
A gateway is \`late\` if it has given no sign of life for seconds, and \`fenced\` while others settle its calls. SHARES: of
how many limits it has a part; of \`all\`, if it is alone. OPEN: its calls without an end in the store. \`gw status\` asks
the gateways how they are.
`,
    )
    .action(
      bind(async (session, _args) => {
        const { out, io } = session
        const page = await inStore(session, 'read', context => listGateways(context, { limit: ALL_ROWS }))
        const nowMs = io.clock.nowMs()
        printPage(out, page, 'No gateway serves the store.', gateways =>
          table(columns(nowMs), gateways, out.style, out.width),
        )
        return EXIT.done
      }),
    )
}

function columns(nowMs: number): readonly Column<JoinedGateway>[] {
  const ago = (at: string | null) => (at === null ? '-' : agoText(Math.max(0, nowMs - Date.parse(at))))
  return [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'STATE', cell: ({ state }) => state },
    { title: 'SEEN', cell: ({ seen_at: at }) => ago(at) },
    { title: 'LEASE', cell: gateway => leaseText(gateway, nowMs), dispensable: true },
    { title: 'SHARES', cell: ({ shares }) => (shares === null ? 'all' : String(shares)), align: 'right' },
    { title: 'OPEN', cell: ({ open_calls: calls }) => String(calls), align: 'right' },
    { title: 'GATEWAY', cell: ({ name }) => name ?? '-', narrowest: 8, dispensable: true },
    { title: 'UP', cell: ({ started_at: at }) => ago(at), dispensable: true },
    { title: 'VERSION', cell: ({ version }) => version ?? '-', dispensable: true },
    { title: 'ADDRESS', cell: ({ url }) => url ?? '-', narrowest: 10, dispensable: true },
  ]
}

function leaseText({ lease_until: until, state }: JoinedGateway, nowMs: number): string {
  if (until === null) return state === 'fenced' ? 'ended' : 'process'
  const leftMs = Date.parse(until) - nowMs
  return leftMs > 0 ? `${agoText(leftMs)} left` : 'ended'
}

function forgetCommand(bind: BindHandler): Command {
  return newCommand('forget', 'Take over what a gateway holds that will never return.', [
    'gw gateways forget 5f1c0a9b7d3e2468           # an ID from `gw gateways list`',
    'gw gateways forget 5f1c0a9b7d3e2468 --force   # its machine was lost a second ago',
  ])
    .argument('<id>', 'an ID from `gw gateways list`')
    .option('--force', 'also one whose lease is not over (PostgreSQL)')
    .addHelpText(
      'after',
      `
At once, and not when its lease is over and its calls are past their deadlines: it is fenced, its open calls are
settled as interrupted, and its shares of limits are free. If it comes back, it can write no call, answers 503, and
ends; started again, it is another gateway. On the machine of a gateway that was killed, others do all of this by
themselves. Of a store in SQLite, a gateway whose process exists cannot be forgotten: end the process.

With --force the calls of a gateway that lives after all go on without a place in concurrency limits, and are charged
as interrupted.
`,
    )
    .action(
      bind<{ readonly force?: true }>(async (session, [id = ''], { force }) => {
        const { out, io, flags, signal } = session
        const { clock, cwd } = io
        let isSettled = false
        const forgotten = await inStore(session, 'write', async context => {
          const answer = await forgetGateway(context, { id, isForced: force === true })
          const onAlarm = (message: string) => out.info(message)
          const ports = { store: context.store, url: flags.store, clock, cwd, signal, onAlarm }
          isSettled = await keepProcessAlive(settleForgotten(id, ports))
          return answer
        })
        out.result({ text: () => forgottenText(forgotten, isSettled), json: () => forgotten })
        return EXIT.done
      }),
    )
}

function forgottenText({ id, shares, open_calls: calls }: ForgottenGateway, isSettled: boolean): string {
  const had = `${pluralize(calls, 'open call')}, shares of ${pluralize(shares, 'limit')}`
  return isSettled
    ? `Gateway ${id} is forgotten. What it had is taken over: ${had}.\n`
    : `Gateway ${id} is fenced. Another gateway takes over what it had: ${had}.\n`
}
