import { type Command, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { DEFAULT_TOKEN_MS, TOKEN_SCOPES, type TokenScope } from '../../schema/token.ts'
import { ALL_ROWS } from '../../services/paging.ts'
import { createToken, listTokens, revokeToken, type TokenShown } from '../../services/tokens.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printPage } from '../output/output.ts'
import { printable } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import type { BindHandler } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

const DAY_MS = 86_400_000

/** `gw tokens`: personal access tokens for the control plane. */
export function tokensCommand(bind: BindHandler): Command {
  return newCommand('tokens', 'Manage personal access tokens for the control plane.', [
    'gw tokens create nightly-report --user ada --expires 30d',
    'gw tokens list',
    'gw tokens revoke 4f0c21d3a9be',
  ])
    .addCommand(createCommand(bind))
    .addCommand(listCommand(bind))
    .addCommand(revokeCommand(bind))
}

interface CreateOptions {
  readonly user?: string
  readonly scope: TokenScope
  readonly tenant?: string
  readonly expires?: number
}

function createCommand(bind: BindHandler): Command {
  return newCommand('create', 'Create a token of a user, and print it once, alone on stdout.', [
    'gw tokens create nightly-report --user ada --expires 30d',
    'gw tokens create deploy --user ada --scope write > token',
    'gw tokens create billing --user ada --tenant acme   # sees only this tenant',
  ])
    .argument('<name>', 'its purpose; unique for each user')
    .option('--user <name>', 'the user; the token never has more permissions than this user')
    .addOption(
      new Option('--scope <scope>', 'read: changes nothing; write: everything that the user may do')
        .choices(TOKEN_SCOPES)
        .default('read'),
    )
    .option('--tenant <name>', 'bind the token of an administrator to one tenant')
    .option('--expires <duration>', 'lifetime; at most 366d (default: 90d)', durationArgument)
    .action(
      bind<CreateOptions>(async (session, [name = ''], options) => {
        const { user, scope, tenant, expires: spanMs = DEFAULT_TOKEN_MS } = options
        if (user === undefined) throw new CommandError('usage', 'The user is missing: `--user NAME`.')
        const wanted = { name, user, scope, spanMs, tenant }
        const issued = await inStore(session, 'write', context => createToken(context, wanted))
        if (session.out.format === 'text')
          session.out.info(`Token ${issued.id} of ${user}, ${scopeText(issued)}, until ${issued.expires_at}:`)
        session.out.result({
          text: () => `${issued.token}\n`,
          json: () => issued,
        })
        return EXIT.done
      }),
    )
}

function listCommand(bind: BindHandler): Command {
  return newCommand('list', 'List tokens, with their expiry and last use.', [
    'gw tokens list',
    'gw tokens list --user ada',
  ])
    .option('--user <name>', 'only those of this user')
    .action(
      bind<{ readonly user?: string }>(async (session, _args, { user }) => {
        const { out, io } = session
        const query = { limit: ALL_ROWS, user }
        const page = await inStore(session, 'read', context => listTokens(context, query))
        printPage(out, page, 'No tokens yet: `gw tokens create NAME --user USER`.', tokens =>
          table(columns(io.clock.nowMs()), tokens, out.style, out.width),
        )
        return EXIT.done
      }),
    )
}

function columns(nowMs: number): readonly Column<TokenShown>[] {
  return [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name, narrowest: 12 },
    { title: 'USER', cell: ({ user }) => user, narrowest: 6 },
    { title: 'SCOPE', cell: scopeText },
    {
      title: 'EXPIRES',
      cell: ({ expires_at: at }) => (Date.parse(at) <= nowMs ? 'expired' : endText(at, nowMs)),
    },
    {
      title: 'LAST USE',
      dispensable: true,
      cell: ({ last_used_at: at }) => at ?? '-',
    },
  ]
}

function revokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'Revoke a token at once.', ['gw tokens revoke 4f0c21d3a9be'])
    .argument('<id>', 'an ID from `gw tokens list`')
    .action(
      bind(async (session, [id = '']) => {
        await inStore(session, 'write', context => revokeToken(context, { id }))
        session.out.result({
          text: () => `Token ${printable(id)} is revoked.\n`,
          json: () => ({ token: id, revoked: true }),
        })
        return EXIT.done
      }),
    )
}

function scopeText({ scope, role, tenant }: TokenShown): string {
  return tenant === undefined ? `${scope} ${role}` : `${scope} ${role} ${tenant}`
}

/** A date, or within the next 24 hours a time; in UTC. JSON has it exactly. */
function endText(at: string, nowMs: number): string {
  return Date.parse(at) - nowMs < DAY_MS ? `${at.slice(11, 16)}Z` : at.slice(0, 10)
}
