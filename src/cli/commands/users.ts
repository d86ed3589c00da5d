import { type Command, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { ROLES, type Role } from '../../schema/user.ts'
import { ALL_ROWS } from '../../services/paging.ts'
import {
  createLoginLink,
  createUser,
  listUsers,
  resetPassword,
  showUser,
  type UserShown,
  updateUser,
} from '../../services/users.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printPage } from '../output/output.ts'
import { printable } from '../output/style.ts'
import { table } from '../output/table.ts'
import { newPassword } from '../secret-input.ts'
import type { BindHandler } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

/** `gw users`: the users of the control plane. */
export function usersCommand(bind: BindHandler): Command {
  return newCommand('users', 'Manage the users of the control plane.', [
    'gw users create ada --role admin',
    'gw users create tom --tenant acme',
    'gw users list',
  ])
    .addCommand(createCommand(bind))
    .addCommand(listCommand(bind))
    .addCommand(switchCommand(bind, 'disable'))
    .addCommand(switchCommand(bind, 'enable'))
    .addCommand(resetCommand(bind))
    .addCommand(linkCommand(bind))
}

interface CreateOptions {
  readonly role?: Role
  readonly tenant?: string
  readonly password?: string
}

const PASSWORD = '--password <->'
const ABOUT_PASSWORD = '`-` reads it from stdin; by default the terminal asks for it'

function createCommand(bind: BindHandler): Command {
  return newCommand('create', 'Create a user; the terminal asks for the password.', [
    'gw users create ada --role admin',
    'gw users create tom --tenant acme',
    'vault read -field=password secret/ada | gw users create ada --role admin --password -',
  ])
    .argument('<name>', 'lower-case letters, digits and . _ @ -')
    .addOption(new Option('--role <role>', 'admin does everything; tenant needs --tenant').choices(ROLES))
    .option('--tenant <name>', 'the only tenant that the user sees')
    .option(PASSWORD, ABOUT_PASSWORD)
    .action(
      bind<CreateOptions>(async (session, [name = ''], { role, tenant, password }) => {
        if (role === undefined && tenant === undefined) {
          throw new CommandError('usage', 'A user needs a role or a tenant.', {
            hint: 'Pass --role admin, or --tenant NAME.',
          })
        }
        const newUser = { name, role: role ?? 'tenant', ...(tenant !== undefined && { tenant }) }
        const ask = () => newPassword(session, password)
        // The first administrator may come before any configuration, which the console then makes.
        const mode = newUser.role === 'admin' ? 'create' : 'write'
        const user = await inStore(session, mode, context => createUser(context, newUser, ask))
        session.out.result({
          text: () => `User ${user.name} may log in as ${placeText(user)}.\n`,
          json: () => user,
        })
        return EXIT.done
      }),
    )
}

function listCommand(bind: BindHandler): Command {
  return newCommand('list', 'List the users.', ['gw users list']).action(
    bind(async session => {
      const page = await inStore(session, 'read', context => listUsers(context, { limit: ALL_ROWS }))
      printPage(session.out, page, 'No users yet: `gw users create NAME --role admin`.', users =>
        usersToText(users, session),
      )
      return EXIT.done
    }),
  )
}

function usersToText(users: readonly UserShown[], { out }: Parameters<typeof newPassword>[0]): string {
  return table(
    [
      { title: 'NAME', cell: (user: UserShown) => user.name, narrowest: 16 },
      { title: 'STATE', cell: user => (user.enabled ? 'enabled' : 'disabled') },
      { title: 'ROLE', cell: user => user.role },
      { title: 'TENANT', cell: user => user.tenant ?? '-', narrowest: 8 },
      { title: 'SESSIONS', cell: user => String(user.sessions), align: 'right', dispensable: true },
      {
        title: 'LAST LOG-IN',
        dispensable: true,
        cell: user => user.last_login_at ?? '-',
      },
    ],
    users,
    out.style,
    out.width,
  )
}

const SWITCHES = {
  disable: { summary: 'Disable the log-in of a user, and end its sessions.', state: 'disabled' },
  enable: { summary: 'Enable the log-in of a user.', state: 'enabled' },
} as const

function switchCommand(bind: BindHandler, to: keyof typeof SWITCHES): Command {
  const { summary, state } = SWITCHES[to]
  return newCommand(to, summary, [`gw users ${to} tom`])
    .argument('<name>', 'the user')
    .action(
      bind(async (session, [name = '']) => {
        const { before, user } = await inStore(session, 'write', async context => ({
          before: await showUser(context, { name }),
          user: await updateUser(context, { name }, () => ({ enabled: to === 'enable' })),
        }))
        const changed = before.enabled !== user.enabled
        session.out.result({
          text: () =>
            `User ${printable(name)} ${changed ? 'is' : 'was'} ${state}${changed ? '' : ' already'}.\n`,
          json: () => user,
        })
        return EXIT.done
      }),
    )
}

function resetCommand(bind: BindHandler): Command {
  return newCommand('reset-password', 'Set a new password, and end every session of the user.', [
    'gw users reset-password ada',
    'vault read -field=password secret/ada | gw users reset-password ada --password -',
  ])
    .argument('<name>', 'the user')
    .option(PASSWORD, ABOUT_PASSWORD)
    .action(
      bind<{ password?: string }>(async (session, [name = ''], { password }) => {
        const ask = () => newPassword(session, password)
        await inStore(session, 'write', context => resetPassword(context, { name }, ask))
        session.out.result({
          text: () => `User ${printable(name)} has a new password; its sessions have ended.\n`,
          json: () => ({ user: name, password_set: true }),
        })
        return EXIT.done
      }),
    )
}

function linkCommand(bind: BindHandler): Command {
  return newCommand('link', 'Print a link that logs a user in to the console, once.', [
    'gw users link ada',
    'gw users link ada --valid 1h --console http://127.0.0.1:8080',
  ])
    .argument('<name>', 'the user')
    .option('--valid <duration>', 'how long it may be used (default: 10m)', durationArgument)
    .option('--console <url>', 'the address of the control plane', 'http://127.0.0.1:8080')
    .action(
      bind<{ valid?: number; console: string }>(async (session, [name = ''], options) => {
        const wanted = { name, spanMs: options.valid }
        const made = await inStore(session, 'write', context => createLoginLink(context, wanted))
        const url = `${options.console.replace(/\/+$/, '')}/console/#link=${made.link}`
        session.out.result({ text: () => `${url}\n`, json: () => ({ ...made, url }) })
        return EXIT.done
      }),
    )
}

function placeText({ role, tenant }: UserShown): string {
  return tenant === undefined ? role : `${role} ${tenant}`
}
