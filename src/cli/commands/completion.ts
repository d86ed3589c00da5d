import { Argument, type Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import type { Kind } from '../../schema/kinds.ts'
import { explainableWords } from '../../services/explain.ts'
import { listRevisions } from '../../services/history.ts'
import { listNames } from '../../services/names.ts'
import { bashCompletion, fishCompletion, zshCompletion } from '../completion/scripts.ts'
import { type CompletedCommand, completedCommands, NAMED_KINDS, type NamedKind } from '../completion/tree.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'

const SHELLS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  bash: [
    'gw completion bash > ~/.local/share/bash-completion/completions/gw',
    'source <(gw completion bash)   # for this shell alone',
  ],
  zsh: ['gw completion zsh > "${fpath[1]}/_gw"', 'source <(gw completion zsh)'],
  fish: ['gw completion fish > ~/.config/fish/completions/gw.fish'],
}
const KINDS: Readonly<Record<Exclude<NamedKind, 'revisions' | 'fields'>, Kind>> = {
  keys: 'key',
  models: 'publication',
  endpoints: 'endpoint',
  nodes: 'node',
  tenants: 'tenant',
}

/** The newest ones; older ones are seldom used. */
const MAX_REVISIONS = 100

/** `gw completion`: completion scripts for shells, generated from the command definitions. */
export function completionCommand(bind: BindHandler, program: () => Command): Command {
  const group = newCommand('completion', 'Print the completion script of a shell.', [
    'gw completion bash > ~/.local/share/bash-completion/completions/gw',
    'gw completion zsh > "${fpath[1]}/_gw"',
    'gw completion fish > ~/.config/fish/completions/gw.fish',
  ])
  for (const [shell, script] of Object.entries(SHELLS)) {
    const made = () => script(completedCommands(program()))
    group.addCommand(
      newCommand(shell, `Print the script for ${shell}.`, EXAMPLES[shell] ?? []).action(
        bind(async ({ out }) => {
          out.result({ text: made, json: () => ({ shell, script: made() }) })
          return EXIT.done
        }),
      ),
    )
  }
  return group.addCommand(namesCommand(bind))
}

/** Called by the scripts on each TAB, so it must be fast: it reads one column, and changes nothing. */
function namesCommand(bind: BindHandler): Command {
  return newCommand('names', 'Print names from the store or the schema, one a line; the scripts call this.', [
    'gw completion names keys',
  ])
    .addArgument(new Argument('<kind>', 'the kind of names').choices(NAMED_KINDS))
    .action(
      bind(async (session, [kind]) => {
        const names = await namesOf(kind as NamedKind, session)
        session.out.result({
          text: () => names.map(name => `${printable(name)}\n`).join(''),
          json: () => names,
        })
        return EXIT.done
      }),
    )
}

async function namesOf(kind: NamedKind, session: Session): Promise<readonly string[]> {
  if (kind === 'fields') return explainableWords()
  return inStore(session, 'read', async context => {
    if (kind !== 'revisions') return listNames(context, KINDS[kind])
    return (await listRevisions(context, { limit: MAX_REVISIONS })).data.map(({ id }) => String(id))
  })
}
