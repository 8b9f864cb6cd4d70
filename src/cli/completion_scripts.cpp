#include "cli/completion.h"

namespace mcpivot {
namespace {

// Bash splits words at "=" and ":", which are part of ours; and it replaces only what follows the last of
// them.
constexpr const char* bash_script = R"script(# mcpivot's completions for bash; mcpivot itself knows what fits.
_mcpivot() {
  local program=${1/#\~\//"$HOME"/} words=() lines=() word glue='' i server=0
  type -P -- "$program" >/dev/null || program=mcpivot
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ( -n $glue || $word =~ ^[=:]+$ ) ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    [[ $word =~ ^[=:]+$ ]] && glue=yes || glue=''
    [[ $word == -- && $server -eq 0 && $i -lt $COMP_CWORD ]] && server=$((i + 1))
  done
  COMPREPLY=()
  mapfile -t lines < <(command "$program" complete -- "${words[@]}" 2>/dev/null)
  local last=${words[${#words[@]}-1]} tail
  tail=${last##*[=:]}
  for word in "${lines[@]:1}"; do
    word=${word%%$'\t'*}
    printf -v word %q "${word:${#last}-${#tail}}"
    COMPREPLY+=("$word")
  done
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
  case ${lines[0]-} in
    files) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$tail") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$tail") ;;
    command)
      if declare -F _command_offset >/dev/null; then
        _command_offset "$server"
      elif [[ $server -eq $COMP_CWORD ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$tail")
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$tail")
      fi ;;
  esac
}
complete -F _mcpivot mcpivot
)script";

constexpr const char* zsh_script = R"script(#compdef mcpivot
# mcpivot's completions for zsh; mcpivot itself knows what fits.
_mcpivot() {
  local program=${(Q)words[1]} line name server
  local -a lines described
  program=${program/#\~\//$HOME/}
  (( $+commands[$program] )) || [[ -x $program ]] || program=mcpivot
  lines=("${(@f)$(command $program complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${(@)lines[2,-1]}"; do
    name=${${line%%$'\t'*}//:/\\:}
    [[ $line == *$'\t'* ]] && described+=("$name:${line#*$'\t'}") || described+=("$name")
  done
  if [[ $lines[2] == *= ]]; then
    (( $#described )) && _describe -V mcpivot described -S ''
  else
    (( $#described )) && _describe -V mcpivot described
  fi
  case $lines[1] in
    files) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;
    folders) [[ $PREFIX == --*=* ]] && compset -P '*='; _files -/ ;;
    command)
      server=${words[(i)--]}
      words=("${(@)words[server+1,-1]}")
      (( CURRENT -= server ))
      _normal ;;
  esac
}
if [[ ${funcstack[1]} == _mcpivot ]]; then _mcpivot "$@"; else compdef _mcpivot mcpivot; fi
)script";

constexpr const char* fish_script = R"script(# mcpivot's completions for fish; mcpivot itself knows what fits.
function __mcpivot_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l last (commandline -ct)
    type -q -- $program; or set program mcpivot
    set -l lines (command $program complete -- $words "$last" 2>/dev/null)
    set -l before (string match -r -- '^--[^=]*=' "$last")
    set -l path (string replace -r -- '^--[^=]*=' '' "$last")
    switch "$lines[1]"
        case files
            for found in (__fish_complete_path "$path")
                echo -- "$before$found"
            end
        case folders
            for found in (__fish_complete_directories "$path" '')
                echo -- "$before$found"
            end
        case command
            set -l server (contains -i -- -- $words)
            set -l command $words[(math $server + 1)..-1]
            complete -C (string join -- ' ' (string escape -- $command) "$last")
    end
    for line in $lines[2..-1]
        echo -- $line
    end
end
complete -c mcpivot -f -a '(__mcpivot_complete)'
)script";

}  // namespace

const char* const completion_footer = R"(
The packages install these. To install one yourself:
  bash  mcpivot completion bash \
          > ~/.local/share/bash-completion/completions/mcpivot
  zsh   mcpivot completion zsh > DIR/_mcpivot, DIR being one of those in $fpath
  fish  mcpivot completion fish > ~/.config/fish/completions/mcpivot.fish)";

std::vector<std::string> shells() {
  return {"bash", "zsh", "fish"};
}

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? bash_script : shell == "zsh" ? zsh_script : fish_script;
}

}  // namespace mcpivot
