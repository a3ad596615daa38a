import { printable } from "callwire";
import { defineCommand } from "../command.ts";
import { oneOf, onlyArgument } from "../command-arguments.ts";
import { completedWords } from "../completed-words.ts";
import { invalid } from "../failure.ts";

/** What a shell runs for each Tab: `callwire completion words` with the line up to the cursor. */
const scripts: Readonly<Record<string, string>> = {
  // Bash replaces only what follows the last `:`, `=` or `@`, which it passes as $2.
  bash: `_callwire() {
  local line="\${COMP_LINE:0:COMP_POINT}" found word
  local last="\${line##*[[:space:]]}"
  local before="\${last%"$2"}"
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    found="\${word#"$before"}"
    COMPREPLY+=("$found")
  done < <("$1" completion words -- "$line" 2>/dev/null)
}
complete -o default -F _callwire callwire
`,
  zsh: `#compdef callwire
_callwire() {
  local -a found names shown
  local each
  found=("\${(@f)$("$words[1]" completion words -- "\${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
  for each in $found; do
    names+=("\${each%%$'\\t'*}")
    shown+=("\${each/$'\\t'/  }")
  done
  if (( $#names )); then compadd -l -d shown -a names; else _files; fi
}
compdef _callwire callwire
`,
  fish: `function __callwire_words
  set -l found (callwire completion words -- (commandline -cp | string collect) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c callwire -f -a '(__callwire_words)'
`,
};
const shells = Object.keys(scripts);

export const command = defineCommand({
  usage: "<bash | zsh | fish>",
  about: `Completes commands, options, their values, servers of @name, and the methods of a server.`,
  options: {},
  words: { "bash | zsh | fish": shells },
  examples: [
    ["callwire completion bash >> ~/.bashrc", "in every new shell"],
    ["callwire completion zsh >> ~/.zshrc", "the same for zsh, after compinit"],
    ["callwire completion fish > ~/.config/fish/completions/callwire.fish", "for fish"],
  ],
  async run(_, positionals, verbs) {
    const [first, line] = positionals;
    if (first === "words" && line !== undefined) {
      const found = await completedWords(line, verbs);
      // What a server says may not break the lines, or the terminal.
      const lines = found.map(
        ({ word, about }) => `${printable(word)}\t${printable(about.replaceAll("\t", " "))}\n`,
      );
      process.stdout.write(lines.join(""));
      return;
    }
    const shell = onlyArgument("completion", "the name of a shell", positionals);
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined) throw invalid("the shell", oneOf(shells), shell);
    process.stdout.write(script);
  },
});
