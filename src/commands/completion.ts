// `sluice completion`: shell scripts that complete commands, options and files, generated from the program itself.
import type { Command } from 'commander';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** The script for a shell, of a program whose commands are all loaded. */
export const completionScript = (shell: (typeof shells)[number], program: Command): string =>
  scripts[shell](program.commands.map(wordsOf));

interface Words {
  name: string;
  description: string;
  options: { flags: string[]; description: string; choices: string[] }[];
  subcommands: Words[];
}

const wordsOf = (command: Command): Words => ({
  name: command.name(),
  description: command.description(),
  options: command.options.map(({ short, long, description, argChoices = [] }) => ({
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    choices: argChoices,
  })),
  subcommands: command.commands.map(wordsOf),
});

/** In single quotes of any of the shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;

const bash = (commands: Words[]): string => `# sluice completion bash > /etc/bash_completion.d/sluice
_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" command='' at words=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) command="\${COMP_WORDS[at]}"; break ;; esac
  done
  case "$command" in
    '') words=${quoted(commands.map(({ name }) => name).join(' '))} ;;
${commands.map((command) => `    ${command.name}) words=${quoted(bashWords(command).join(' '))} ;;`).join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ -n "$command" && "$word" != -* ]] && mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
  return 0
}
complete -o filenames -F _sluice sluice`;

const bashWords = (command: Words): string[] => [
  ...command.subcommands.map(({ name }) => name),
  ...withBelow(command).flatMap(({ options }) => options.flatMap(({ flags }) => flags)),
];

const withBelow = (command: Words): Words[] => [command, ...command.subcommands];

const zsh = (commands: Words[]): string => `#compdef sluice
# sluice completion zsh > "\${fpath[1]}/_sluice"
_sluice() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    ${quoted(`${name}:${description.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands.map((command) => `    ${command.name}) _arguments ${withBelow(command).flatMap(zshOptions).join(' ')} '*:file:_files' ;;`).join('\n')}
  esac
}
_sluice "$@"`;

const zshOptions = ({ options }: Words): string[] =>
  options.flatMap(({ flags, description, choices }) => {
    const values = choices.length > 0 ? `:value:(${choices.join(' ')})` : '';
    return flags.map((flag) => quoted(`${flag}[${description.replaceAll(/[[\]:]/g, ' ')}]${values}`));
  });

const fish = (commands: Words[]): string => {
  const below = (name: string): string => `complete -c sluice -n '__fish_seen_subcommand_from ${name}'`;
  const lines = commands.flatMap((command) => [
    `complete -c sluice -f -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.description)}`,
    ...command.subcommands.map(
      ({ name, description }) => `${below(command.name)} -a ${name} -d ${quoted(description)}`,
    ),
    ...withBelow(command).flatMap(({ options }) =>
      options.map((option) => `${below(command.name)} ${fishOption(option)}`),
    ),
  ]);
  return ['# sluice completion fish > ~/.config/fish/completions/sluice.fish', ...lines].join('\n');
};

const fishOption = ({ flags, description, choices }: Words['options'][number]): string => {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const values = choices.length > 0 ? ` -xa ${quoted(choices.join(' '))}` : '';
  return `${names.join(' ')}${values} -d ${quoted(description)}`;
};

const scripts = { bash, zsh, fish };
