import { type Command, InvalidArgumentError } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { formatDurationMs, parseDurationMs } from '../../base/units.ts'
import type { KeyState } from '../../services/changes/types.ts'
import { disableKey, enableKey, issueKeys, rotateKey, showKey } from '../../services/keys.ts'
import { mintIntoFiles } from '../../services/secret-files.ts'
import { reveal, revealAll, revealFiles } from '../key-secret.ts'
import { newCommand } from '../new-command.ts'
import { keyToJson, keyToText } from '../output/key-text.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'
import { keysCreateCommand } from './keys-create.ts'
import { keysDeleteCommand } from './keys-delete.ts'
import { keysListCommand } from './keys-list.ts'
import { keysRevokeCommand } from './keys-revoke.ts'

const MAX_GRACE_MS = 366 * 86_400_000

/** `gw keys`: secrets of keys, disabling keys in an incident, and keys beside those of the files. */
export function keysCommand(bind: BindHandler): Command {
  return newCommand('keys', 'Manage API keys and their secrets.', [
    'gw keys issue my-app',
    'gw keys create demo --tenant acme --budget 50/month --issue',
    'gw keys rotate my-app --grace 24h',
    'gw keys list',
  ])
    .addCommand(keysCreateCommand(bind))
    .addCommand(issueCommand(bind))
    .addCommand(rotateCommand(bind))
    .addCommand(keysListCommand(bind))
    .addCommand(showCommand(bind))
    .addCommand(disableCommand(bind))
    .addCommand(enableCommand(bind))
    .addCommand(keysRevokeCommand(bind))
    .addCommand(keysDeleteCommand(bind))
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
        const ports = appPorts(session)
        const wanted = [...new Set(names)]
        const mint = () => issueKeys(wanted, session.flags.store, ports)
        if (to === undefined) return revealAll(session, await mint())
        return revealFiles(session, await mintIntoFiles(to, wanted, ports.cwd, mint))
      }),
    )
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
        const issued = await rotateKey(name, grace, session.flags.store, appPorts(session))
        return reveal(session, issued)
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
        const { key, spend } = await showKey(name, session.flags.store, appPorts(session))
        session.out.result({
          text: () => keyToText(key, session.out.style, spend),
          json: () => keyToJson(key, spend),
        })
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
        const changed = await disableKey(name, session.flags.store, appPorts(session))
        return switched(session, name, 'disabled', changed)
      }),
    )
}

function enableCommand(bind: BindHandler): Command {
  return newCommand('enable', 'Revert `gw keys disable`.', ['gw keys enable my-app'])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const changed = await enableKey(name, session.flags.store, appPorts(session))
        const { key } = await showKey(name, session.flags.store, appPorts(session))
        return switched(session, name, 'enabled', changed, PROBLEMS[key.state]?.(name))
      }),
    )
}

/** States in which an enabled key does not work yet. */
const PROBLEMS: Readonly<Partial<Record<KeyState, (name: string) => string>>> = {
  no_secret: name => `It has no secret yet: \`gw keys issue ${name}\`.`,
  expired: () => 'It has expired: change `expires_at` in its policy.',
}

function switched(
  { out }: Session,
  key: string,
  state: 'enabled' | 'disabled',
  changed: boolean,
  problem?: string,
) {
  if (problem !== undefined) out.info(problem)
  out.result({
    text: () => (changed ? `Key ${key} is ${state}.\n` : `Key ${key} was ${state} already.\n`),
    json: () => ({ key, state, changed }),
  })
  return EXIT.done
}

function parseGrace(text: string): number {
  const ms = text === '0' ? 0 : parseDurationMs(text)
  if (ms === undefined) throw new InvalidArgumentError('Write a duration such as 30m, 24h or 0s.')
  if (ms > MAX_GRACE_MS) throw new InvalidArgumentError(`At most ${formatDurationMs(MAX_GRACE_MS)}.`)
  return ms
}
