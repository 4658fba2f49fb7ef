import type { DefineCommand } from '../command.ts'

/**
 * Bash treats `:` and `=` as word separators. So the script splits the line at spaces, and removes from the replies the
 * part that Bash took for earlier words.
 */
const bash = `# Completion for skillet. In ~/.bashrc: eval "$(skillet completions bash)"
_skillet() {
  local line=\${COMP_LINE:0:COMP_POINT} words found word lead reply
  read -r -a words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=\${words[\${#words[@]}-1]}
  lead=\${word%"\${word##*[:=]}"}
  [[ $COMP_WORDBREAKS == *:* || $word == *=* ]] || lead=
  COMPREPLY=()
  while IFS= read -r found; do
    reply=\${found%%$'\\t'*}
    COMPREPLY+=("\${reply#"$lead"}")
  done < <(skillet __complete -- "\${words[@]:1}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[:=/] ]] && compopt -o nospace
  return 0
}
complete -F _skillet skillet
`

const zsh = `#compdef skillet
# Completion for skillet. In ~/.zshrc, after compinit: eval "$(skillet completions zsh)"
_skillet() {
  local line word
  local -a ends goes
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    # A colon parts a word from its description.
    line=\${word//:/\\\\:}\${line#$word}
    line=\${line/$'\\t'/:}
    if [[ $word == *[:=/] ]]; then goes+=("$line"); else ends+=("$line"); fi
  done < <(skillet __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( \${#goes} )) && _describe skillet goes -S ''
  (( \${#ends} )) && _describe skillet ends
}
compdef _skillet skillet
`

const fish = `# Completion for skillet. In ~/.config/fish/config.fish: skillet completions fish | source
function __skillet_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    skillet __complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c skillet -f -a '(__skillet_complete)'
`

const scripts = { bash, zsh, fish }

/**
 * `skillet completions SHELL`: prints the script with which a shell completes commands, skills, tools and parameters.
 */
const define: DefineCommand = (command, { terminal }) => {
  command.addArgument(command.createArgument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .option('--json', 'print JSON')
    .action((shell: keyof typeof scripts, { json = false }: { json?: boolean }) => {
      const script = scripts[shell]
      terminal.out(json ? `${JSON.stringify({ shell, script })}\n` : script)
    })
    .addHelpText('after', Object.entries(scripts)
      .map(([, script]) =>
        script.split('\n').find(line => line.startsWith('# Completion'))?.replace(/^.*In (.*?): /, '\n  in $1:  '))
      .join(''))
}
export default define
