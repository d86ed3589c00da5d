import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { didYouMean } from '../../config/did-you-mean.ts'
import { CALL_OUTCOMES } from '../../schema/ledger.ts'
import {
  type CallFilters,
  type CallsRead,
  followCalls,
  isRejection,
  readCalls,
} from '../../services/calls.ts'
import { unknownNames } from '../../services/names.ts'
import { callToJson, rejectionToJson } from '../../store/ledger/to-json.ts'
import { countArgument } from '../arguments.ts'
import { inStore } from '../in-store.ts'
import { keepProcessAlive } from '../keep-process-alive.ts'
import { newCommand } from '../new-command.ts'
import { type CallLines, callLines } from '../output/call-text.ts'
import type { BindHandler, Session } from '../session.ts'
import { parseTime } from '../time-argument.ts'
import { type TrafficOptions, trafficFilters, withTrafficFilters } from '../traffic-filters.ts'

interface Options extends TrafficOptions {
  readonly node?: string
  readonly status?: string
  readonly outcome?: string
  readonly since?: string
  readonly requestId?: string
  readonly limit: number
  readonly follow?: true
}

/** `gw logs`: the call log, oldest first. */
export function logsCommand(bind: BindHandler): Command {
  const command = newCommand(
    'logs',
    'Print the call log: a line for each dispatched call, with its cause if it failed, and a sample of the rejected calls, with the number of equal rejections in the same second. With --format json it is JSON Lines: one object per line.',
    [
      'gw logs --follow',
      'gw logs --outcome rejected --since 1h',
      'gw logs --tenant acme --status 4xx --since 1h',
      'gw logs --node gpu-7 --since 1h',
      'gw logs --request-id req_0123 --format json',
      "gw logs --follow --format json | jq 'select(.latency_ms > 5000)'",
    ],
  )
  return withTrafficFilters(command)
    .option('--node <name>', 'only calls that this node served')
    .option('--status <which>', '429, 4xx, or >=400 for all that failed')
    .option('--outcome <outcome>', CALL_OUTCOMES.join(', '))
    .option('--since <when>', 'a duration such as 1h, a day or a time')
    .option('--request-id <id>', 'what the client was given as x-request-id')
    .option('--limit <n>', 'at most so many, the newest', countArgument, 100)
    .option('-f, --follow', 'go on with each new call, until Ctrl-C')
    .action(bind<Options>(handler))
}

async function handler(session: Session, _args: readonly string[], options: Options) {
  const { out, io } = session
  const print = printer(session)
  const filters = filtersOf(options, io.clock.nowMs())
  if (!options.follow) {
    const read = await inStore(session, 'read', async context => {
      const read = await readCalls(context, filters, options.limit)
      if (read.calls.length === 0)
        out.info(['No such calls.', ...(await unknownNames(context, filters))].join(' '))
      return read
    })
    print(read)
    return EXIT.done
  }
  const signal = AbortSignal.any([session.signal, out.closed])
  await keepProcessAlive(
    inStore(session, 'read', context =>
      followCalls({ ...context, signal }, filters, options.limit, async read => {
        print(read)
        await out.flush()
      }),
    ),
  )
  return EXIT.done
}

function printer({ out }: Session): (read: CallsRead) => void {
  const print = out.lines()
  let lines: CallLines | undefined
  return ({ calls, currency }) => {
    const shown = (lines ??= callLines(currency, out.style, out.width))
    shown.expect(calls)
    for (const call of calls) {
      const json = () => (isRejection(call) ? rejectionToJson(call) : callToJson(call, currency))
      print({ text: () => shown.line(call), json })
    }
  }
}

function filtersOf(options: Options, nowMs: number): CallFilters {
  const { node, status, outcome, since, requestId } = options
  return {
    ...trafficFilters(options),
    ...(node !== undefined && { node }),
    ...(status !== undefined && statusRange(status)),
    ...(outcome !== undefined && { outcome: outcomeOf(outcome) }),
    ...(since !== undefined && { sinceMs: parseTime('--since', since, 'ago', { nowMs, timezone: 'UTC' }) }),
    ...(requestId !== undefined && { requestId }),
  }
}

function outcomeOf(text: string): string {
  if ((CALL_OUTCOMES as readonly string[]).includes(text)) return text
  const suggestion = didYouMean(text, CALL_OUTCOMES)
  throw new CommandError('usage', `\`--outcome ${text}\` is not an outcome.`, {
    hint:
      suggestion === undefined ? `Write one of ${CALL_OUTCOMES.join(', ')}.` : `Did you mean ${suggestion}?`,
  })
}

/** `429`, `4xx` or `>=400`. */
function statusRange(text: string): Pick<CallFilters, 'minStatus' | 'maxStatus'> {
  const [, exact, hundred, least] = /^(?:(\d{1,3})|([1-5])xx|>=\s?(\d{1,3}))$/i.exec(text) ?? []
  if (exact !== undefined) return { minStatus: Number(exact), maxStatus: Number(exact) }
  if (hundred !== undefined)
    return { minStatus: Number(hundred) * 100, maxStatus: Number(hundred) * 100 + 99 }
  if (least !== undefined) return { minStatus: Number(least) }
  throw new CommandError('usage', `\`--status ${text}\` is not a status.`, {
    hint: 'Write 429, 4xx, or ">=400" (quoted, for the shell).',
  })
}
