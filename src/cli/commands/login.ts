import { type Command, Option } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { TOKEN_SCOPES, type TokenScope } from '../../schema/token.ts'
import { logIn, logOut } from '../../services/login.ts'
import { controlUrlOption } from '../addresses.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import { oldPassword } from '../secret-input.ts'
import { appPorts, type BindHandler } from '../session.ts'

interface LoginOptions {
  readonly url?: URL
  readonly user?: string
  readonly scope: TokenScope
  readonly expires: string
  readonly password?: string
}

const DEFAULT_URL = new URL('http://127.0.0.1:8080')

/** `gw login`: saves a token for a control plane, for other commands. */
export function loginCommand(bind: BindHandler): Command {
  return newCommand('login', 'Log in to a control plane, and save a token for it.', [
    'gw login --user ada',
    'gw login --url https://gw.example.com --user ada --scope write --expires 8h',
    'vault read -field=password secret/ada | gw login --user ada --password -',
  ])
    .addOption(controlUrlOption(`the control plane (default: ${DEFAULT_URL.origin})`))
    .option('--user <name>', 'the user')
    .addOption(
      new Option('--scope <scope>', 'read: changes nothing; write: everything that the user may do')
        .choices(TOKEN_SCOPES)
        .default('read'),
    )
    .option('--expires <duration>', 'lifetime of the token', '30d')
    .option('--password <->', '`-` reads it from stdin; by default the terminal asks for it')
    .addHelpText(
      'after',
      [
        '',
        'The password opens a session, which creates a personal access token and ends. The token is saved in',
        '~/.config/gw/login.json (GW_LOGIN_FILE), readable only for its owner. `gw why --url` uses it, unless GW_TOKEN is',
        'set. `gw logout` revokes it.',
      ].join('\n'),
    )
    .action(
      bind<LoginOptions>(async (session, _args, { url = DEFAULT_URL, user, scope, expires, password }) => {
        if (user === undefined) throw new CommandError('usage', 'The user is missing: `--user NAME`.')
        const { login, file } = await logIn(
          { url, user, scope, expiresIn: expires },
          () => oldPassword(session, password),
          appPorts(session),
        )
        session.out.result({
          text: () =>
            `Logged in at ${url.origin} as ${user} until ${login.expires_at}: the token ${login.id} is in ${printable(file)}.\n`,
          json: () => ({
            url: url.origin,
            user,
            token_id: login.id,
            scope,
            expires_at: login.expires_at,
            file,
          }),
        })
        return EXIT.done
      }),
    )
}

/** `gw logout`: revokes the token of `gw login`. */
export function logoutCommand(bind: BindHandler): Command {
  return newCommand('logout', 'Revoke and delete the token that `gw login` has saved.', [
    'gw logout',
    'gw logout --url https://gw.example.com',
  ])
    .addOption(controlUrlOption(`the control plane (default: ${DEFAULT_URL.origin})`))
    .action(
      bind<{ readonly url?: URL }>(async (session, _args, { url = DEFAULT_URL }) => {
        const changed = await logOut(url, appPorts(session))
        session.out.result({
          text: () =>
            changed ? `Logged out at ${url.origin}.\n` : `There was no log-in for ${url.origin}.\n`,
          json: () => ({ url: url.origin, changed }),
        })
        return EXIT.done
      }),
    )
}
