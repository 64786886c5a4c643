export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** All of them ask `telltale __complete INDEX WORDS…` and get lines of `candidate TAB description`. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of telltale for bash: eval "$(telltale completion bash)"
_telltale() {
  local line candidate
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v candidate '%q' "\${line%%$'\\t'*}"
    COMPREPLY+=("$candidate")
  done < <("$1" __complete "$COMP_CWORD" -- "\${COMP_WORDS[@]}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _telltale telltale
`,
  zsh: `#compdef telltale
# Completion of telltale for zsh: eval "$(telltale completion zsh)"
_telltale() {
  local line
  local -a candidates shown
  for line in "\${(@f)$("\${words[1]}" __complete $((CURRENT - 1)) -- "\${words[@]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    candidates+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done
  if [[ \${#candidates} -eq 1 && \${candidates[1]} == */ ]]; then
    compadd -S '' -a candidates
  else
    compadd -l -d shown -a candidates
  fi
}
compdef _telltale telltale
`,
  fish: `# Completion of telltale for fish: telltale completion fish | source
function __telltale_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] __complete (math (count $words) - 1) -- $words 2>/dev/null
end
complete -c telltale -f -a '(__telltale_complete)'
`,
};
