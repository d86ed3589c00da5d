import type { CompletedCommand, CompletedFlag, Words } from './tree.ts'

/**
 * The completion script for bash 4 or newer. Bash splits words at `=` and `:`, so the script reads the word under the
 * cursor from the line, and removes from each answer the part that bash has already.
 */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion of gw for bash 4 or newer, made by \`gw completion bash\`.
# For this shell: source <(gw completion bash). For all: put it into a file of ~/.local/share/bash-completion/completions.

_gw_words() {
  case $1 in
${caseTable(commands, commandWords)}  esac
}

${lookupFunctions(commands)}
_gw() {
  local line=\${COMP_LINE:0:COMP_POINT} at=gw word flag='' kind from
  local -a typed
  read -ra typed <<< "$line"
  local cur=''
  if [[ $line != *[[:space:]] ]]; then
    cur=\${typed[-1]}
    unset 'typed[-1]'
  fi
  for word in "\${typed[@]:1}"; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case $word in
      ${valueFlags(commands).join('|')}) flag=$word ;;
      -*) ;;
      *) [[ " $(_gw_words "$at") " == *" $word "* ]] && at="$at $word" ;;
    esac
  done
  if [[ -z $flag && $cur == --*=* ]]; then
    flag=\${cur%%=*}
    cur=\${cur#*=}
  fi
  if [[ -n $flag ]]; then read -r kind from <<< "$(_gw_value "$at" "$flag")"
  elif [[ $cur == -* ]]; then kind=choices from=$(_gw_words "$at")
  else
    read -r kind from <<< "$(_gw_argument "$at")"
    local below
    below=$(_gw_words "$at")
    [[ $below == [a-z]* ]] && kind=choices from=$below
  fi
  case $kind in
    choices)
      if [[ $cur == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$from" -- "$cur")
      else mapfile -t COMPREPLY < <(compgen -W "$from" -X '-*' -- "$cur"); fi ;;
    store) mapfile -t COMPREPLY < <(compgen -W "$(gw completion names "$from" 2> /dev/null)" -- "$cur") ;;
    files) compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    *) COMPREPLY=() ;;
  esac
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before=\${cur%"\${cur##*:}"}
    COMPREPLY=("\${COMPREPLY[@]#"$before"}")
  fi
}

complete -F _gw gw
`
}

/** Commands first and then flags; a word that begins with a letter says that there are commands. */
function commandWords({ commands, flags }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...flags.flatMap(({ spellings }) => spellings)]
  return words.join(' ')
}

/** The completion script for zsh, which shows each command and each flag with its description. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef gw
# Completion of gw for zsh, made by \`gw completion zsh\`.
# Put it into a file named _gw in a folder of $fpath, or, after compinit: source <(gw completion zsh).

_gw_commands() {
  case $1 in
${zshBranches(commands, ({ commands: below }) => below.map(({ name, about }) => zshEntry(name, about)))}  esac
}

_gw_flags() {
  case $1 in
${zshBranches(commands, ({ flags }) => flags.flatMap(({ spellings, about }) => spellings.map(each => zshEntry(each, about))))}  esac
}

${lookupFunctions(commands)}
_gw_from() {
  local -a found
  case $1 in
    choices) compadd -- \${@[2,-1]} ;;
    store)
      found=(\${(f)"$(gw completion names $2 2> /dev/null)"})
      compadd -- $found ;;
    files) _files ;;
  esac
}

_gw() {
  local at=gw word flag='' below
  local -a reply
  for word in \${words[2,CURRENT-1]}; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case $word in
      ${valueFlags(commands).join('|')}) flag=$word ;;
      -*) ;;
      *)
        _gw_commands $at
        (( \${reply[(I)\${(b)word}:*]} )) && at="$at $word" ;;
    esac
  done
  if [[ -n $flag ]]; then
    _gw_from \${=$(_gw_value $at $flag)}
  elif [[ $PREFIX == --*=* ]]; then
    flag=\${PREFIX%%=*}
    compset -P '*='
    _gw_from \${=$(_gw_value $at $flag)}
  elif [[ $PREFIX == -* ]]; then
    _gw_flags $at
    _describe -o flag reply
  else
    _gw_commands $at
    if (( $#reply )); then _describe command reply
    else _gw_from \${=$(_gw_argument $at)}; fi
  fi
}

if [[ $funcstack[1] == _gw ]]; then _gw "$@"; else compdef _gw gw; fi
`
}

function zshBranches(
  commands: readonly CompletedCommand[],
  entries: (command: CompletedCommand) => readonly string[],
): string {
  return commands
    .map(command => `    ${quoted(command.path)}) reply=(${entries(command).map(quoted).join(' ')}) ;;\n`)
    .join('')
}

/** `_describe` splits at the first colon. */
function zshEntry(word: string, about: string): string {
  return `${word.replaceAll(':', '\\\\:')}:${about}`
}

/** The completion script for fish: a line for each command, flag and argument. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const paths = commands.map(({ path }) => fishQuoted(path)).join(' ')
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
            case ${valueFlags(commands).map(fishQuoted).join(' ')}
                set flag $word
            case '-*'
            case '*'
                contains -- "$at $word" ${paths}; and set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end

complete -c gw -f
${commands.map(fishLines).join('')}`
}

function fishLines(command: CompletedCommand): string {
  const where = `complete -c gw -n ${fishQuoted(`__gw_at "${command.path}"`)}`
  const lines = [
    ...command.commands.map(({ name, about }) => `${where} -a ${fishQuoted(name)} -d ${fishQuoted(about)}`),
    ...command.flags.map(flag => `${where} ${fishFlag(flag)} -d ${fishQuoted(flag.about)}`),
    ...(command.argument.from === 'nowhere' ? [] : [`${where} ${fishWords(command.argument)}`]),
  ]
  return lines.map(line => `${line}\n`).join('')
}

function fishFlag({ spellings, value }: CompletedFlag): string {
  const typed = spellings.map(each => (each.startsWith('--') ? `-l ${each.slice(2)}` : `-s ${each.slice(1)}`))
  const taken = value === undefined ? [] : [value.from === 'files' ? '-r' : '-x', fishWords(value)]
  return [...typed, ...taken].filter(word => word !== '').join(' ')
}

function fishWords(source: Words): string {
  if (source.from === 'files') return '-F'
  if (source.from === 'choices') return `-a ${fishQuoted(source.choices.join(' '))}`
  return source.from === 'store' ? `-a ${fishQuoted(`(gw completion names ${source.kind} 2>/dev/null)`)}` : ''
}

/** Quotes any text as one word of fish. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** The two functions of POSIX shells that print the source of a word: of a flag's value, and of an argument. */
function lookupFunctions(commands: readonly CompletedCommand[]): string {
  return `_gw_value() {
  case "$1 $2" in
${flagTable(commands)}  esac
}

_gw_argument() {
  case $1 in
${caseTable(commands, ({ argument }) => source(argument))}  esac
}
`
}

/** The branches of a `case` of POSIX shells: a line that prints what `text` gives, for each path. */
function caseTable<Row extends { readonly path: string }>(
  rows: readonly Row[],
  text: (row: Row) => string,
): string {
  return rows.map(row => `    ${quoted(row.path)}) echo ${quoted(text(row))} ;;\n`).join('')
}

/** The same for the value of each flag of each command. */
function flagTable(commands: readonly CompletedCommand[]): string {
  const rows = commands.flatMap(({ path, flags }) =>
    flags.flatMap(({ spellings, value }) =>
      value === undefined ? [] : spellings.map(spelling => ({ path: `${path} ${spelling}`, value })),
    ),
  )
  return caseTable(rows, ({ value }) => source(value))
}

/** The source of words, as the scripts read it: the first word is its kind. */
function source(words: Words): string {
  if (words.from === 'choices') return `choices ${words.choices.join(' ')}`
  return words.from === 'store' ? `store ${words.kind}` : words.from
}

/** Every flag that takes a value: the word after it is not a command. */
function valueFlags(commands: readonly CompletedCommand[]): readonly string[] {
  const all = commands.flatMap(({ flags }) =>
    flags.flatMap(({ spellings, value }) => (value === undefined ? [] : spellings)),
  )
  return [...new Set(all)]
}

/** Quotes any text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
