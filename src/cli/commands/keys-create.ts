import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import type { Json } from '../../schema/kinds.ts'
import { createKey } from '../../services/keys.ts'
import { reveal } from '../key-secret.ts'
import { newCommand } from '../new-command.ts'
import { countArgument } from '../numbers.ts'
import { printable } from '../output/style.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'
import { parseTime, timezoneArgument } from '../time-argument.ts'

interface Options {
  readonly kind?: 'platform' | 'tenant'
  readonly tenant?: string
  readonly displayName?: string
  readonly models?: readonly string[]
  readonly rpm?: number
  readonly tpm?: number
  readonly concurrency?: number
  readonly quota?: number
  readonly budget?: { readonly amount: string; readonly per: string }
  readonly timezone?: string
  readonly expires?: string
  readonly issue?: true
}

/** `gw keys create`: a key beside those of the files; `gw apply` does not change it. */
export function keysCreateCommand(bind: BindHandler): Command {
  return newCommand('create', 'Create a key that no file declares; gw apply does not change it.', [
    'gw keys create ci-bot --kind platform --issue',
    'gw keys create demo --tenant acme --models "gpt-*" --budget 50/month --expires 30d --issue',
  ])
    .argument('<name>', 'the name of the new key')
    .addOption(
      new Option('--kind <kind>', 'platform: a key without a tenant').choices(['platform', 'tenant']),
    )
    .option('--tenant <name>', 'the tenant that it belongs to')
    .option('--display-name <text>', 'a name for display')
    .option('--models <patterns>', 'names or globs, separated by commas (default: all)', listArgument)
    .option('--rpm <n>', 'requests per minute', countArgument)
    .option('--tpm <n>', 'tokens per minute', countArgument)
    .option('--concurrency <n>', 'requests at a time', countArgument)
    .option('--quota <n>', 'total tokens in the life of the key', countArgument)
    .option('--budget <amount/per>', 'money: 50/month, 2.5/day or 100/total', budgetArgument)
    .option(
      '--timezone <zone>',
      'time zone of days and months of the budget (default: UTC)',
      timezoneArgument,
    )
    .option('--expires <when>', 'a duration from now, a day or a time')
    .option('--issue', 'generate its secret as well, and print only that on stdout')
    .action(bind<Options>(handler))
}

async function handler(session: Session, [name = '']: readonly string[], options: Options) {
  const { out, flags } = session
  const key = { name, policy: policyOf(options, session.io.clock.nowMs()) }
  const created = await createKey(key, options.issue === true, flags.store, appPorts(session))
  for (const model of created.unknownModels)
    out.info(`${out.infoStyle.changed('warning')} no publication is named ${printable(model)}.`)
  if (created.issued) {
    out.info(`Key ${name} created: revision ${created.revision}.`)
    return reveal(session, created.issued)
  }
  out.result({
    text: () =>
      `Key ${name} created: revision ${created.revision}. \`gw keys issue ${name}\` generates its secret.\n`,
    json: () => ({ key: name, revision: created.revision }),
  })
  return EXIT.done
}

/** The policy in the form of a configuration file. */
function policyOf(options: Options, nowMs: number): { readonly [field: string]: Json } {
  const { kind, tenant, displayName, models, rpm, tpm, concurrency, quota, budget, timezone, expires } =
    options
  if (kind === undefined && tenant === undefined) {
    throw new CommandError('usage', 'A key needs a tenant or the kind `platform`.', {
      hint: 'Pass --tenant NAME, or --kind platform.',
    })
  }
  if (timezone !== undefined && budget === undefined)
    throw new CommandError('usage', '`--timezone` belongs to a budget, and none is given.', {
      hint: 'Pass --budget AMOUNT/PER with it.',
    })
  return {
    kind: kind ?? 'tenant',
    ...(tenant !== undefined && { tenant }),
    ...(displayName !== undefined && { display_name: displayName }),
    ...(models && { models }),
    limits: {
      ...(rpm !== undefined && { rpm }),
      ...(tpm !== undefined && { tpm }),
      ...(concurrency !== undefined && { concurrency }),
    },
    ...(quota !== undefined && { quota }),
    ...(budget && { budget: { ...budget, ...(timezone !== undefined && { timezone }) } }),
    ...(expires !== undefined && { expires_at: expiryOf(expires, nowMs) }),
  }
}

function expiryOf(text: string, nowMs: number): string {
  const ms = parseTime('--expires', text, 'ahead', { nowMs, timezone: 'UTC' })
  if (ms > nowMs) return new Date(ms).toISOString()
  throw new CommandError('usage', `\`--expires ${text}\` is in the past.`, {
    hint: 'Name a time in the future, such as 90d or 2030-01-31.',
  })
}

function listArgument(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(',').filter(part => part !== '')]
}

function budgetArgument(text: string): { amount: string; per: string } {
  const [, amount, per] = /^([^/]+)\/(day|month|total)$/.exec(text) ?? []
  if (amount === undefined || per === undefined)
    throw new InvalidArgumentError('Write AMOUNT/PER, such as 50/month, 2.5/day or 100/total.')
  return { amount, per }
}
