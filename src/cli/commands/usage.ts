import { type Command, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import { parseDurationMs } from '../../base/units.ts'
import { USAGE_SPLITS } from '../../schema/api/usage.ts'
import { unknownNames } from '../../services/names.ts'
import { reportUsage } from '../../services/usage.ts'
import type { UsageQuery } from '../../store/ledger/types.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { usageToText } from '../output/usage-text.ts'
import type { BindHandler, Session } from '../session.ts'
import { type Now, parseTime, startOfDay, timezoneArgument } from '../time-argument.ts'
import { type TrafficOptions, trafficFilters, withTrafficFilters } from '../traffic-filters.ts'

const BY = [
  'key',
  'tenant',
  'model',
  'endpoint',
  'day',
  'hour',
] as const satisfies readonly UsageQuery['by'][]

interface Options extends TrafficOptions {
  readonly by: UsageQuery['by']
  readonly split?: NonNullable<UsageQuery['split']>
  readonly since: string
  readonly until?: string
  readonly timezone: string
}

/** `gw usage`: usage and cost, grouped by one dimension or two. */
export function usageCommand(bind: BindHandler): Command {
  const command = newCommand('usage', 'Show requests, tokens and cost over a time range.', [
    'gw usage --by model',
    'gw usage --by day --tenant acme --since 2026-11-01 --timezone Europe/Berlin',
    'gw usage --by key --since 24h --format json',
    'gw usage --by tenant --split model   # a row for each tenant and model',
  ])
    .addOption(new Option('--by <what>', 'one row for each').choices(BY).default('model'))
    .addOption(
      new Option('--split <what>', 'a second dimension: one row for each pair').choices(USAGE_SPLITS),
    )
    .option('--since <when>', 'a duration, a day or a time; rounded to 15 minutes', '30d')
    .option('--until <when>', 'the same forms (default: now)')
    .option('--timezone <zone>', 'time zone of days', timezoneArgument, 'UTC')
  return withTrafficFilters(command).action(bind<Options>(handler))
}

async function handler(session: Session, _args: readonly string[], options: Options) {
  const { out, io } = session
  const query = queryOf(options, { nowMs: io.clock.nowMs(), timezone: options.timezone })
  const { report, unknown } = await inStore(session, 'read', async context => {
    const report = await reportUsage(context, query)
    return { report, unknown: report.data.length > 0 ? [] : await unknownNames(context, query) }
  })
  const span = `from ${minute(report.since)} to ${minute(report.until)}`
  if (report.data.length === 0) out.info([`No billed calls ${span}.`, ...unknown].join(' '))
  else out.info(`Billed calls ${span}:`)
  out.result({ text: () => usageToText(report, out.style, out.width), json: () => report })
  return EXIT.done
}

function queryOf(options: Options, now: Now): UsageQuery {
  const { by, split, since, until, timezone } = options
  const fromMs = parseTime('--since', since, 'ago', now)
  const untilMs = until === undefined ? now.nowMs : parseTime('--until', until, 'ago', now)
  // "30d" by days means whole days: otherwise the first one would be incomplete.
  const isSpan = parseDurationMs(since) !== undefined
  const sinceMs = by === 'day' && isSpan ? startOfDay(fromMs, timezone) : fromMs
  const span = { sinceMs, untilMs, timezone }
  if (sinceMs < untilMs)
    return { ...trafficFilters(options), by, ...(split !== undefined && { split }), ...span }
  throw new CommandError(
    'usage',
    `The range from ${minute(iso(sinceMs))} to ${minute(iso(untilMs))} is empty.`,
    {
      hint: 'Let --since be earlier than --until.',
    },
  )
}

function minute(time: string): string {
  return `${time.slice(0, 16)}Z`
}
