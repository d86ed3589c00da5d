import { caseTable, flagTable, source, valueFlags } from './shell.ts'
import type { CompletedCommand } from './tree.ts'

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

_gw_value() {
  case "$1 $2" in
${flagTable(commands)}  esac
}

_gw_argument() {
  case $1 in
${caseTable(commands, ({ argument }) => source(argument))}  esac
}

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
