// `sluice completion`: shell scripts that complete commands, options, choices and files, generated from the program
// itself, and what these ask for: the keys, runs and portals that are known.
import { existsSync } from 'node:fs';
import type { Command, Option } from 'commander';
import type { CommonOptions, Io } from './io.ts';
import { lines } from './text.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** The script for a shell, of a program whose commands are all loaded. */
export const completionScript = (shell: (typeof shells)[number], program: Command): string =>
  scripts[shell](program.commands.map(wordsOf));

/** What the argument of a command may be, of its form such as `<run|key>`: keys, the last runs, portals. */
export const knownWords = async (form: string, options: CommonOptions, io: Io): Promise<string[]> => {
  const kinds = kindsIn(form);
  // Which no other command waits for.
  const { configOf, withRuntime } = await import('./session.ts');
  const { knownKeys } = await import('../service/items.ts');
  const config = await configOf(options, io);
  const portals = kinds.includes('portal') ? Object.keys(config.portals) : [];
  if (!kinds.includes('key') && !kinds.includes('run')) return portals;
  if (!config.redis.url && !existsSync(config.stateDir)) return portals; // a Tab begins no state
  return withRuntime({ config, options, role: 'completion' }, io, async (runtime) => {
    const keys = kinds.includes('key') ? await knownKeys(runtime) : [];
    return [...portals, ...keys.sort(), ...(kinds.includes('run') ? await runtime.runs.latest(20) : [])];
  });
};

const kindsIn = (form: string): string[] => form.match(/[a-z]+/g) ?? [];

type Words = ReturnType<typeof wordsOf>;

const wordsOf = (command: Command) => {
  const form = command.registeredArguments.map((each) => each.name()).join(' ');
  return {
    name: command.name(),
    description: command.description(),
    subcommands: command.commands.map((each) => ({ name: each.name(), description: each.description() })),
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    /** True for an argument that only sluice knows. */
    isKnown: kindsIn(form).some((kind) => ['key', 'run', 'portal'].includes(kind)),
    takesFiles: /manifest|file|plan|folder/.test(form),
    options: optionsWithin(command).map(({ short, long, description, argChoices = [] }) => ({
      flags: [short, long].filter((flag) => flag !== undefined),
      description,
      choices: argChoices,
    })),
  };
};

const optionsWithin = ({ options, commands }: Command): Option[] => [...options, ...commands.flatMap(optionsWithin)];

/** In single quotes of any of the shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;

const bash = (commands: Words[]): string => `# sluice completion bash > /etc/bash_completion.d/sluice
_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" command='' at words='' ask='' files=''
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) ;; *) command="\${COMP_WORDS[at]}"; break ;; esac
  done
  case "$command $before" in
${commands.flatMap(bashChoices).join('\n')}
    *' --portal') ask=--portal ;;
    *' --config'|*' --state'|*' -o'|*' --output') files=yes ;;
    ' '*) words=${quoted(`${commands.map(({ name }) => name).join(' ')} help`)} ;;
    'help '*) words=${quoted(['manifest', 'config', ...commands.map(({ name }) => name)].join(' '))} ;;
${commands.map((command) => `    ${quoted(`${command.name} `)}*) words=${quoted(bashWords(command).join(' '))}${bashRest(command)} ;;`).join('\n')}
  esac
  [[ -n "$ask" && "$word" != -* ]] && words="$words $("\${COMP_WORDS[0]}" completion bash "--words=$ask" 2>/dev/null)"
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  [[ -n "$files" && "$word" != -* ]] && mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
  return 0
}
complete -o filenames -F _sluice sluice`;

const bashChoices = ({ name, options }: Words): string[] =>
  options
    .filter(({ choices }) => choices.length > 0)
    .map(({ flags, choices }) => {
      const places = flags.map((flag) => quoted(`${name} ${flag}`)).join('|');
      return `    ${places}) words=${quoted(choices.join(' '))} ;;`;
    });

const bashRest = ({ name, isKnown, takesFiles }: Words): string =>
  `${isKnown ? ` ask=${name}` : ''}${takesFiles ? ' files=yes' : ''}`;

const bashWords = ({ subcommands, choices, options }: Words): string[] => [
  ...subcommands.map(({ name }) => name),
  ...choices,
  ...options.flatMap(({ flags }) => flags),
];

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
${commands.map((command) => `    ${command.name}) _arguments ${[...zshOptions(command), ...zshRest(command)].join(' ')} ;;`).join('\n')}
  esac
}
_sluice "$@"`;

const zshRest = ({ name, isKnown, takesFiles, choices }: Words): string[] =>
  lines(
    isKnown && `'*:${zshAsk(name, takesFiles ? '; _files' : '')}'`,
    takesFiles && !isKnown && "'*:file:_files'",
    choices.length > 0 && `'*:value:(${choices.join(' ')})'`,
  );

const zshAsk = (of: string, more = ''): string =>
  `known:{compadd -- $(sluice completion zsh --words=${of} 2>/dev/null)${more}}`;

const zshOptions = ({ options }: Words): string[] =>
  options.flatMap(({ flags, description, choices }) => {
    const asked = flags.includes('--portal') ? `:${zshAsk('--portal')}` : '';
    const values = choices.length > 0 ? `:value:(${choices.join(' ')})` : asked;
    return flags.map((flag) => quoted(`${flag}[${description.replaceAll(/[[\]:]/g, ' ')}]${values}`));
  });

const fish = (commands: Words[]): string =>
  ['# sluice completion fish > ~/.config/fish/completions/sluice.fish', ...commands.flatMap(fishLines)].join('\n');

const fishLines = ({ name, description, subcommands, options, isKnown, takesFiles, choices }: Words): string[] => {
  const below = `complete -c sluice -n '__fish_seen_subcommand_from ${name}'`;
  return lines(
    `complete -c sluice -f -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    subcommands.map((each) => `${below} -a ${each.name} -d ${quoted(each.description)}`),
    options.map((option) => `${below} ${fishOption(option)}`),
    isKnown && `${below} ${takesFiles ? '' : '-f '}-a ${quoted(fishAsk(name))}`,
    choices.length > 0 && `${below} -f -a ${quoted(choices.join(' '))}`,
  );
};

const fishAsk = (of: string): string => `(sluice completion fish --words=${of} 2>/dev/null)`;

const fishOption = ({ flags, description, choices }: Words['options'][number]): string => {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const asked = flags.includes('--portal') ? ` -xa ${quoted(fishAsk('--portal'))}` : '';
  const values = choices.length > 0 ? ` -xa ${quoted(choices.join(' '))}` : asked;
  return `${names.join(' ')}${values} -d ${quoted(description)}`;
};

const scripts = { bash, zsh, fish };
