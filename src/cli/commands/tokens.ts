import { type Command, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import type { Json } from '../../schema/kinds.ts'
import { DEFAULT_TOKEN_MS, TOKEN_SCOPES, type TokenScope } from '../../schema/token.ts'
import { createToken, listTokens, revokeToken } from '../../services/tokens.ts'
import type { StoredToken } from '../../store/users/types.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import { type Column, table } from '../output/table.ts'
import { appPorts, type BindHandler } from '../session.ts'
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
        const { token, stored } = await createToken(
          { name, user, scope, spanMs, ...(tenant !== undefined && { tenant }) },
          session.flags.store,
          appPorts(session),
        )
        if (session.out.format === 'text')
          session.out.info(
            `Token ${stored.id} of ${user}, ${scopeText(stored)}, until ${iso(stored.expiresAtMs)}:`,
          )
        session.out.result({
          text: () => `${token}\n`,
          json: () => ({ ...tokenToJson(stored), token }),
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
        const { out, flags, io } = session
        const tokens = await listTokens(user, flags.store, appPorts(session))
        if (tokens.length === 0) out.info('No tokens yet: `gw tokens create NAME --user USER`.')
        out.result({
          text: () =>
            tokens.length === 0 ? '' : table(columns(io.clock.nowMs()), tokens, out.style, out.width),
          json: () => tokens.map(tokenToJson),
        })
        return EXIT.done
      }),
    )
}

function columns(nowMs: number): readonly Column<StoredToken>[] {
  return [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name, narrowest: 12 },
    { title: 'USER', cell: ({ user }) => user, narrowest: 6 },
    { title: 'SCOPE', cell: scopeText },
    {
      title: 'EXPIRES',
      cell: ({ expiresAtMs }) => (expiresAtMs <= nowMs ? 'expired' : endText(expiresAtMs, nowMs)),
    },
    {
      title: 'LAST USE',
      dispensable: true,
      cell: ({ usedAtMs }) => (usedAtMs === undefined ? '-' : iso(usedAtMs)),
    },
  ]
}

function revokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'Revoke a token at once.', ['gw tokens revoke 4f0c21d3a9be'])
    .argument('<id>', 'an ID from `gw tokens list`')
    .action(
      bind(async (session, [id = '']) => {
        await revokeToken(id, session.flags.store, appPorts(session))
        session.out.result({
          text: () => `Token ${printable(id)} is revoked.\n`,
          json: () => ({ token: id, revoked: true }),
        })
        return EXIT.done
      }),
    )
}

function scopeText({ scope, role, tenant }: StoredToken): string {
  return tenant === undefined ? `${scope} ${role}` : `${scope} ${role} ${tenant}`
}

/** A date, or within the next 24 hours a time; in UTC. JSON has it exactly. */
function endText(ms: number, nowMs: number): string {
  return ms - nowMs < DAY_MS ? `${iso(ms).slice(11, 16)}Z` : iso(ms).slice(0, 10)
}

function tokenToJson({ createdAtMs, expiresAtMs, usedAtMs, ...token }: StoredToken): {
  readonly [member: string]: Json
} {
  return {
    ...token,
    created_at: iso(createdAtMs),
    expires_at: iso(expiresAtMs),
    ...(usedAtMs !== undefined && { last_used_at: iso(usedAtMs) }),
  }
}
