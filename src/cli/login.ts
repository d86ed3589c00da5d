import { type Command, Option } from 'commander'
import { logIn, logOut } from '../app/login.ts'
import { CommandError, EXIT } from '../base/catalogue/command.ts'
import { TOKEN_SCOPES, type TokenScope } from '../schema/token.ts'
import { controlUrlOption } from './control-address.ts'
import { newCommand } from './new-command.ts'
import { oldPassword } from './secret-input.ts'
import { appPorts, type BindHandler } from './session.ts'
import { printable } from './style.ts'

interface LoginOptions {
  readonly url?: URL
  readonly user?: string
  readonly scope: TokenScope
  readonly expires: string
  readonly password?: string
}

const DEFAULT_URL = new URL('http://127.0.0.1:8080')

/** `gw login`: keeps a token for a control plane, so that other commands can ask it. */
export function loginCommand(bind: BindHandler): Command {
  return newCommand('login', 'Log in at a control plane, and keep a token for it.', [
    'gw login --user ada',
    'gw login --url https://gw.example.com --user ada --scope write --expires 8h',
    'vault read -field=password secret/ada | gw login --user ada --password -',
  ])
    .addOption(controlUrlOption(`the control plane (default: ${DEFAULT_URL.origin})`))
    .option('--user <name>', 'who logs in')
    .addOption(
      new Option('--scope <scope>', 'read: asks and changes nothing; write: all that the user may')
        .choices(TOKEN_SCOPES)
        .default('read'),
    )
    .option('--expires <duration>', 'for how long the token is good', '30d')
    .option('--password <->', '`-` reads it from stdin; without this flag it is asked for on the terminal')
    .addHelpText(
      'after',
      [
        '',
        'The password opens a session, which makes a personal access token and ends. The token is kept in',
        '~/.config/gw/login.json (GW_LOGIN_FILE), readable for its owner alone. `gw why --url` uses it; GW_TOKEN in the',
        'environment comes before it. `gw logout` revokes it.',
      ].join('\n'),
    )
    .action(
      bind<LoginOptions>(async (session, _args, { url = DEFAULT_URL, user, scope, expires, password }) => {
        if (user === undefined) throw new CommandError('GW6001', 'Name who logs in: `--user NAME`.')
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

/** `gw logout`: revokes what `gw login` has kept. */
export function logoutCommand(bind: BindHandler): Command {
  return newCommand('logout', 'Revoke the token of a control plane that `gw login` keeps, and forget it.', [
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
