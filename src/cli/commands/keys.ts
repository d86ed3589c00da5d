import { type Command, InvalidArgumentError, Option } from 'commander'
import { CommandError, EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import { pluralize } from '../../base/pluralize.ts'
import { formatDurationMs, parseDurationMs } from '../../base/units.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { Json } from '../../schema/kinds.ts'
import type { Context } from '../../services/context.ts'
import {
  createKey,
  deleteKey,
  disableKey,
  enableKey,
  firstCallProblem,
  issueKeys,
  type KeyShown,
  keySpec,
  listKeys,
  revokeKey,
  rotateKey,
  showKey,
  unknownModels,
} from '../../services/keys.ts'
import { ALL_ROWS } from '../../services/paging.ts'
import { mintIntoFiles, type SecretFile } from '../../services/secret-files.ts'
import { countArgument } from '../arguments.ts'
import { confirm } from '../confirm.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { keysToText, keyToText } from '../output/key-text.ts'
import { printPage } from '../output/output.ts'
import { printable } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'
import { durationArgument, parseTime, timezoneArgument } from '../time-argument.ts'

const MAX_GRACE_MS = 366 * 86_400_000

type IssuedSecret = AnswerOf<OperationOf<'issue_key'>>

/** A minted secret, with a warning for its user. */
interface Issued {
  readonly answer: IssuedSecret
  readonly warning?: string | undefined
}

/** `gw keys`: secrets of keys, disabling keys in an incident, and keys beside those of the files. */
export function keysCommand(bind: BindHandler): Command {
  return newCommand('keys', 'Manage API keys and their secrets.', [
    'gw keys issue my-app',
    'gw keys create demo --tenant acme --budget 50/month --issue',
    'gw keys rotate my-app --grace 24h',
    'gw keys list',
  ])
    .addCommand(createCommand(bind))
    .addCommand(issueCommand(bind))
    .addCommand(rotateCommand(bind))
    .addCommand(listCommand(bind))
    .addCommand(showCommand(bind))
    .addCommand(disableCommand(bind))
    .addCommand(enableCommand(bind))
    .addCommand(revokeCommand(bind))
    .addCommand(deleteCommand(bind))
}

interface CreateOptions {
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
function createCommand(bind: BindHandler): Command {
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
    .action(bind<CreateOptions>(create))
}

async function create(session: Session, [name = '']: readonly string[], options: CreateOptions) {
  const { out } = session
  const spec = keySpec(name, policyOf(options, session.io.clock.nowMs()))
  const { created, issued } = await inStore(session, 'write', async context => {
    const created = await createKey(context, { name, spec })
    for (const model of await unknownModels(context, created))
      out.info(`${out.infoStyle.changed('warning')} no publication is named ${printable(model)}.`)
    return { created, issued: options.issue ? await issueAll(context, [name]) : [] }
  })
  if (issued.length > 0) {
    out.info(`Key ${name} created: revision ${created.created_revision}.`)
    return revealAll(session, issued)
  }
  out.result({
    text: () =>
      `Key ${name} created: revision ${created.created_revision}. \`gw keys issue ${name}\` generates its secret.\n`,
    json: () => created,
  })
  return EXIT.done
}

/** The policy in the form of a configuration file. */
function policyOf(options: CreateOptions, nowMs: number): { readonly [field: string]: Json } {
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
  if (ms > nowMs) return iso(ms)
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

function issueCommand(bind: BindHandler): Command {
  return newCommand('issue', 'Generate the secrets of keys; each is printed once, or written to a file.', [
    'gw keys issue my-app',
    'gw keys issue my-app | vault kv put secret/my-app key=-',
    'gw keys issue alice bob --to ./keys   # ./keys/alice.key and ./keys/bob.key',
  ])
    .argument('<names...>', 'the keys')
    .option('--to <folder>', 'write each secret to a file NAME.key in this folder, which only you can read')
    .action(
      bind<{ to?: string }>(async (session, names, { to }) => {
        const wanted = [...new Set(names)]
        const mint = () => inStore(session, 'write', context => issueAll(context, wanted))
        if (to === undefined) return revealAll(session, await mint())
        return revealFiles(session, to, wanted, mint)
      }),
    )
}

/** Every step that may fail comes before the secrets, because a secret is shown only once. */
async function issueAll(context: Context, names: readonly string[]): Promise<readonly Issued[]> {
  const warnings: (string | undefined)[] = []
  for (const name of names) warnings.push(await firstCallProblem(context, { name }))
  const issued = await issueKeys(context, { names })
  return issued.map((answer, at) => ({ answer, warning: warnings[at] }))
}

function rotateCommand(bind: BindHandler): Command {
  return newCommand(
    'rotate',
    'Generate a new secret and end the older ones, at once or after a grace period.',
    [
      'gw keys rotate my-app --grace 24h',
      'gw keys rotate my-app               # an incident: the old secret ends now',
    ],
  )
    .argument('<name>', 'the key')
    .option('--grace <duration>', 'how long the older secrets still work', parseGrace, 0)
    .action(
      bind<{ grace: number }>(async (session, [name = ''], { grace }) => {
        const rotation = { name, graceMs: grace }
        return reveal(session, {
          answer: await inStore(session, 'write', context => rotateKey(context, rotation)),
        })
      }),
    )
}

function showCommand(bind: BindHandler): Command {
  return newCommand('show', 'Show one key: its policy, its state, its spend and its place in the files.', [
    'gw keys show my-app',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const key = await inStore(session, 'read', context => showKey(context, { name }))
        session.out.result({ text: () => keyToText(key, session.out.style), json: () => key })
        return EXIT.done
      }),
    )
}

function disableCommand(bind: BindHandler): Command {
  return newCommand('disable', 'Disable a key at once, regardless of its configuration.', [
    'gw keys disable my-app',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        return switched(session, await inStore(session, 'write', context => disableKey(context, { name })))
      }),
    )
}

function enableCommand(bind: BindHandler): Command {
  return newCommand('enable', 'Revert `gw keys disable`.', ['gw keys enable my-app'])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const { answer, key } = await inStore(session, 'write', async context => ({
          answer: await enableKey(context, { name }),
          key: await showKey(context, { name }),
        }))
        return switched(session, answer, PROBLEMS[key.state]?.(name))
      }),
    )
}

/** States in which an enabled key does not work yet. */
const PROBLEMS: Readonly<Partial<Record<KeyShown['state'], (name: string) => string>>> = {
  no_secret: name => `It has no secret yet: \`gw keys issue ${name}\`.`,
  expired: () => 'It has expired: change `expires_at` in its policy.',
}

function switched(
  { out }: Session,
  answer: AnswerOf<OperationOf<'disable_key'>>,
  problem?: string,
): ExitCode {
  const { key, state, changed } = answer
  if (problem !== undefined) out.info(problem)
  out.result({
    text: () => (changed ? `Key ${key} is ${state}.\n` : `Key ${key} was ${state} already.\n`),
    json: () => answer,
  })
  return EXIT.done
}

function parseGrace(text: string): number {
  const ms = text === '0' ? 0 : parseDurationMs(text)
  if (ms === undefined) throw new InvalidArgumentError('Write a duration such as 30m, 24h or 0s.')
  if (ms > MAX_GRACE_MS) throw new InvalidArgumentError(`At most ${formatDurationMs(MAX_GRACE_MS)}.`)
  return ms
}

/** Prints only the secret on stdout, for pipes; messages go to stderr. */
function reveal(session: Session, issued: Issued): ExitCode {
  const { out } = session
  const { key, secret, grace_until: graceUntil } = issued.answer
  out.info(`The secret of ${key}, shown only once: the store keeps its hash.`)
  if (graceUntil !== undefined) out.info(`Older secrets work until ${graceUntil}.`)
  warn(session, issued)
  out.result({ text: () => `${secret}\n`, json: () => issued.answer })
  return EXIT.done
}

/** Several secrets: a line for each, with the name of its key, a tab and the secret. */
function revealAll(session: Session, issued: readonly Issued[]): ExitCode {
  const [only] = issued
  if (only && issued.length === 1) return reveal(session, only)
  session.out.info('Each secret is shown only once: the store keeps its hash.')
  for (const each of issued) warn(session, each)
  const answers = issued.map(({ answer }) => answer)
  session.out.result({
    text: () => answers.map(({ key, secret }) => `${key}\t${secret}\n`).join(''),
    json: () => ({ keys: answers }),
  })
  return EXIT.done
}

/** Writes the secrets to files, and prints only the paths. */
async function revealFiles(
  session: Session,
  folder: string,
  names: readonly string[],
  mint: () => Promise<readonly Issued[]>,
): Promise<ExitCode> {
  const files: readonly SecretFile[] = await mintIntoFiles(folder, names, session.io.cwd, async () => {
    const issued = await mint()
    for (const each of issued) warn(session, each)
    return issued.map(({ answer }) => answer)
  })
  session.out.result({
    text: () => files.map(({ key, path }) => `The secret of ${key} is in ${path}.\n`).join(''),
    json: () => ({ keys: files.map(({ key, path }) => ({ key, file: path })) }),
  })
  return EXIT.done
}

function warn({ out }: Session, { answer: { key }, warning }: Issued): void {
  if (warning !== undefined) out.info(`${out.infoStyle.changed('warning')} ${key}: ${warning}`)
}

interface ListOptions {
  readonly expiring?: number
  readonly unused?: number
}

/** `gw keys list`. */
function listCommand(bind: BindHandler): Command {
  return newCommand('list', 'List the keys and whether they work.', [
    'gw keys list',
    'gw keys list --expiring 14d   # those that expire within two weeks',
    'gw keys list --unused 30d     # those without a call for a month',
    'gw keys list --format json',
  ])
    .option('--expiring <duration>', 'only those that expire within this time', durationArgument)
    .option('--unused <duration>', 'only those without a billed call for this long', durationArgument)
    .action(
      bind<ListOptions>(async (session, _args, { expiring, unused }) => {
        const { out } = session
        const query = {
          limit: ALL_ROWS,
          ...(expiring !== undefined && { expiringMs: expiring }),
          ...(unused !== undefined && { unusedMs: unused }),
        }
        const isFiltered = expiring !== undefined || unused !== undefined
        const page = await inStore(session, 'read', context => listKeys(context, query))
        const none = isFiltered ? 'No such keys.' : 'No keys yet: declare one under `keys` and apply.'
        printPage(out, page, none, keys =>
          keysToText(keys, session.io.clock.nowMs(), out.style, out.width, {
            withExpiry: expiring !== undefined,
          }),
        )
        return EXIT.done
      }),
    )
}

/** `gw keys revoke`: without confirmation, because incidents are urgent and a new secret can always be issued. */
function revokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'Revoke every secret of a key at once, regardless of its configuration.', [
    'gw keys revoke my-app         # an incident; gw keys issue my-app generates a new secret',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const revoked = await inStore(session, 'write', context => revokeKey(context, { name }))
        session.out.result({
          text: () => revocationText(revoked),
          json: () => revoked,
        })
        return EXIT.done
      }),
    )
}

function revocationText({ key: name, secrets, suspended }: AnswerOf<OperationOf<'revoke_key'>>): string {
  if (suspended) {
    return (
      `Key ${name} is disabled: its secret is defined in the configuration.\n` +
      `Replace it there and apply, then \`gw keys enable ${name}\`.\n`
    )
  }
  if (secrets === 0) return `Key ${name} had no active secret.\n`
  return `Key ${name}: ${pluralize(secrets, 'secret')} revoked. \`gw keys issue ${name}\` generates a new one.\n`
}

/** `gw keys delete`: for keys created by `gw keys create` or REST; others are removed from their file. */
function deleteCommand(bind: BindHandler): Command {
  return newCommand('delete', 'Delete a key that no file declares, with its secrets.', [
    'gw keys delete demo',
    'gw keys delete demo --yes',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const { out, flags } = session
        const review = async (key: KeyShown) => {
          if (!flags.yes) out.info(keyToText(key, out.infoStyle).trimEnd())
          await confirm(session, `Delete the key ${name}?`)
        }
        const deleted = await inStore(session, 'write', context => deleteKey(context, { name }, review))
        out.result({
          text: () => `Key ${name} deleted: revision ${deleted.revision}. Its usage stays in the ledger.\n`,
          json: () => deleted,
        })
        return EXIT.done
      }),
    )
}
