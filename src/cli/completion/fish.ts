import { valueFlags } from './shell.ts'
import type { CompletedCommand, CompletedFlag, Words } from './tree.ts'

/** What fish completes `gw` by: a line for each command, flag and argument. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.map(({ path }) => quoted(path)).join(' ')
  return `# Completion of gw for fish, made by \`gw completion fish\`.
# Put it into ~/.config/fish/completions/gw.fish.

function __gw_at
    set -l at gw
    set -l flag
    for word in (commandline -opc)[2..]
        if set -q flag[1]
            set -e flag
            continue
        end
        switch $word
            case ${valueFlags(commands).map(quoted).join(' ')}
                set flag $word
            case '-*'
            case '*'
                contains -- "$at $word" ${paths}; and set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end

complete -c gw -f
${commands.map(commandLines).join('')}`
}

function commandLines(command: CompletedCommand): string {
  const where = `complete -c gw -n ${quoted(`__gw_at "${command.path}"`)}`
  const lines = [
    ...command.commands.map(({ name, about }) => `${where} -a ${quoted(name)} -d ${quoted(about)}`),
    ...command.flags.map(flag => `${where} ${flagWords(flag)} -d ${quoted(flag.about)}`),
    ...(command.argument.from === 'nowhere' ? [] : [`${where} ${words(command.argument)}`]),
  ]
  return lines.map(line => `${line}\n`).join('')
}

function flagWords({ spellings, value }: CompletedFlag): string {
  const typed = spellings.map(each => (each.startsWith('--') ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`))
  const taken = value === undefined ? [] : [value.from === 'files' ? '-r' : '-x', words(value)]
  return [...typed, ...taken].filter(word => word !== '').join(' ')
}

function words(source: Words): string {
  if (source.from === 'files') return '-F'
  if (source.from === 'choices') return `-a ${quoted(source.choices.join(' '))}`
  return source.from === 'store' ? `-a ${quoted(`(gw completion names ${source.kind} 2>/dev/null)`)}` : ''
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
