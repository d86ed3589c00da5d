import { caseTable, flagTable, quoted, source, valueFlags } from './shell.ts'
import type { CompletedCommand } from './tree.ts'

/** What zsh completes `gw` by: each command and each flag with what it does. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef gw
# Completion of gw for zsh, made by \`gw completion zsh\`.
# Put it into a file named _gw in a folder of $fpath, or, after compinit: source <(gw completion zsh).

_gw_commands() {
  case $1 in
${branches(commands, ({ commands: below }) => below.map(({ name, about }) => described(name, about)))}  esac
}

_gw_flags() {
  case $1 in
${branches(commands, ({ flags }) => flags.flatMap(({ spellings, about }) => spellings.map(each => described(each, about))))}  esac
}

_gw_value() {
  case "$1 $2" in
${flagTable(commands)}  esac
}

_gw_argument() {
  case $1 in
${caseTable(commands, ({ argument }) => source(argument))}  esac
}

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

function branches(
  commands: readonly CompletedCommand[],
  entries: (command: CompletedCommand) => readonly string[],
): string {
  return commands
    .map(command => `    ${quoted(command.path)}) reply=(${entries(command).map(quoted).join(' ')}) ;;\n`)
    .join('')
}

/** `_describe` splits at the first colon. */
function described(word: string, about: string): string {
  return `${word.replaceAll(':', '\\\\:')}:${about}`
}
