// The command line: every command with its arguments, options and help.
import { Argument, Command, CommanderError, Option } from 'commander';
import { InterruptedError, machineFault, UsageError } from '../model/errors.ts';
import { didYouMean, nearest } from '../model/yaml/nearest.ts';
import { packageVersion } from '../util/installation.ts';
import { completionScript, knownWords, shells } from './completion.ts';
import {
  type CommandDeclaration,
  type CommandDeclarations,
  commonOptions,
  type Parameter,
  placeOptions,
} from './declaration.ts';
import { helpText, helpTopics } from './help-topics.ts';
import {
  type CommonOptions,
  errorJson,
  errorText,
  exitCodeOfError,
  exitCodes,
  type Io,
  say,
  sayText,
  warn,
} from './io.ts';

type Listed = [usage: string, description: string, load: () => Promise<{ commands: CommandDeclarations }>];

/** Each command as `sluice --help` lists it, and its file: only that of the command that is typed is loaded. */
const groups: Record<string, Listed[]> = {
  'Publish:': [
    ['init [folder]', 'set up a folder: configuration, sample manifest, inbox', () => import('./init.ts')],
    [
      'check [file...]',
      'validate configuration, manifests and tables, or a portal with --portal',
      () => import('./check.ts'),
    ],
    ['plan <manifest...>', 'show what publish would do, without writing anything', () => import('./plan.ts')],
    ['publish <manifest...>', 'publish manifests, tables or folders once', () => import('./publish.ts')],
    ['apply <plan>', 'carry out a saved plan exactly as reviewed', () => import('./plan.ts')],
    ['run-now <manifest...>', 'run manifests now, regardless of their schedules', () => import('./schedules.ts')],
  ],
  'Look:': [
    ['status [key|file]', 'show what is live, and why something is not', () => import('./status.ts')],
    ['runs', 'list the last runs', () => import('./runs.ts')],
    ['report <run>', 'print the report of a run: text, html, csv, md, json', () => import('./runs.ts')],
    ['log <job|run|key>', 'show the log of a job, a run, or the last job of a key', () => import('./runs.ts')],
    ['history <key>', 'list the published versions of a table', () => import('./runs.ts')],
    ['schedules [manifest...]', 'list schedules with their next and last runs', () => import('./schedules.ts')],
    ['verify <manifest>', 'check that the portal holds what was published', () => import('./reconcile.ts')],
  ],
  'Decide:': [
    ['retry [run|key]', 'retry what failed in a run or with one error code, or one key', () => import('./operate.ts')],
    ['release <run|key>', 'let a held run or table go ahead', () => import('./operate.ts')],
    ['discard <run|key>', 'discard a held run or table', () => import('./operate.ts')],
    ['cancel <run>', 'stop a run after its current step', () => import('./operate.ts')],
    ['remove <key>', 'remove a dataset or resource from the portal', () => import('./operate.ts')],
  ],
  'Operate:': [
    [
      'start [manifest...]',
      'run the service: workers, watched folders, schedules, the embedded portal',
      () => import('./start.ts'),
    ],
    ['worker', 'run workers only, on another host with the same Redis', () => import('./start.ts')],
    ['pause <portal>', 'pause the jobs of a portal', () => import('./operate.ts')],
    ['resume <portal>', 'resume the jobs of a paused portal', () => import('./operate.ts')],
    ['notices', 'send test notices', () => import('./operate.ts')],
    ['adopt <manifest>', 'link datasets that are already on the portal', () => import('./reconcile.ts')],
    ['rebuild <manifest>', 'restore lost state from the portal', () => import('./reconcile.ts')],
  ],
  'Portal:': [
    ['portal', 'run the embedded portal on its own', () => import('./portal.ts')],
    ['export <portal>', 'export a portal to a folder; later runs fetch only changes', () => import('./export.ts')],
  ],
  'Help:': [
    ['demo', 'publish sample datasets to a temporary portal and check the result', () => import('./demo.ts')],
    [
      'completion <shell>',
      'print a script that completes commands in bash, zsh or fish',
      async () => ({ commands: { completion } }),
    ],
  ],
};

const listed = Object.values(groups).flat();

const nameOf = (usage: string): string => usage.split(' ', 1)[0] ?? '';

const commandNames = [...listed.map(([usage]) => nameOf(usage)), 'help'];

/** Words that people use for our commands; none stands for its opposite. */
const synonyms = {
  remove: ['delete', 'rm', 'del', 'destroy', 'unpublish', 'drop'],
  release: ['approve', 'accept'],
  discard: ['reject'],
  cancel: ['abort', 'stop', 'kill'],
  resume: ['unpause', 'continue'],
  pause: ['suspend'],
  status: ['ls', 'list', 'show'],
  publish: ['run', 'sync', 'upload', 'push'],
  plan: ['diff', 'preview'],
  check: ['validate', 'lint', 'test', 'fix'],
  start: ['serve', 'service'],
  init: ['new', 'setup'],
  log: ['logs'],
  history: ['versions'],
  adopt: ['link'],
  rebuild: ['restore'],
  export: ['backup'],
};

const otherNames = Object.fromEntries(
  Object.entries(synonyms).flatMap(([name, words]) => words.map((word) => [word, name])),
);

/** It is declared here because it needs all the others. */
const completion: CommandDeclaration = {
  arguments: { '<shell>': { text: '', choices: shells } },
  options: { ...placeOptions, '--words <command>': 'print the keys, runs or portals that a command may take instead' },
  examples: ['source <(sluice completion bash)', 'sluice completion fish > ~/.config/fish/completions/sluice.fish'],
  run: async (shell: (typeof shells)[number], { words, ...options }: CommonOptions & { words?: string }, io: Io) => {
    if (words !== undefined) {
      const usage = listed.find(([each]) => nameOf(each) === words)?.[0].slice(words.length);
      for (const word of await knownWords(usage ?? words, options, io)) say(io, word);
      return exitCodes.ok;
    }
    const program = await createProgram({ isLoaded: () => true, run: async () => undefined });
    io.stdout.write(`${completionScript(shell, program)}\n`);
    return exitCodes.ok;
  },
};

interface ProgramOptions {
  /** True for a command whose declaration is loaded; the others are only listed. */
  isLoaded: (name: string) => boolean;
  /** Called with the command that was typed; it resolves with the exit code. */
  run: (start: (io: Io) => Promise<number>) => Promise<void>;
  /** Where help and usage errors are printed; the streams of the process by default. */
  io?: Pick<Io, 'stdout' | 'stderr'>;
}

const wrapping = { minWidthToWrap: 20 };

/** Runs a command line and resolves with its exit code. `isReported`: what interrupted it has been printed. */
export const runProgram = async (words: string[], io: Io, isReported: () => boolean = () => false): Promise<number> => {
  const typed = words.find((word) => !word.startsWith('-') && word !== 'help');
  // Loading what a command needs, and starting Redis, takes a moment.
  const sayFirst = (): void => io.line?.show(`sluice ${typed ?? ''} …`);
  let exitCode: number = exitCodes.ok;
  sayFirst();
  const program = await createProgram({
    isLoaded: (name) => name === typed,
    run: async (start) => {
      sayFirst();
      exitCode = await start(io);
    },
    io,
  });
  io.line?.clear(); // for help, and for what is wrong with the words
  const failed = (error: unknown): number => {
    const isUsage = error instanceof CommanderError;
    if (isUsage && error.exitCode === 0) return exitCodes.ok; // `--help`, which is printed
    if (isUsage) io.stderr.write(meantOption(error, program, typed));
    else if (!(error instanceof InterruptedError && isReported())) warn(io, errorText(error));
    if (words.includes('--json')) sayText(io, errorJson(isUsage ? new UsageError(error.message) : error));
    return isUsage ? exitCodes.usage : exitCodeOfError(error);
  };
  try {
    const [first = '-', topic] = words;
    if (!first.startsWith('-') && !commandNames.includes(first)) {
      throw new UsageError(`unknown command "${first}"`, {
        hint: `${didYouMean(first, commandNames, otherNames)}\`sluice --help\` lists the commands`,
      });
    }
    const isTopic = first === 'help' && topic !== undefined && !commandNames.includes(topic);
    if (isTopic) sayText(io, helpText(topic, commandNames, otherNames));
    else await program.parseAsync(words, { from: 'user' });
  } catch (thrown) {
    exitCode = failed(faultOf(thrown, io.stop));
  }
  io.line?.clear();
  return exitCode;
};

/** An option like the unknown one, which was reported. */
const meantOption = ({ code, message }: CommanderError, program: Command, typed: string | undefined): string => {
  const [, word = ''] = code === 'commander.unknownOption' ? (/'--(.*)'/.exec(message) ?? []) : [];
  const command = program.commands.find((each) => each.name() === typed);
  const meant = word && nearest(word, command?.options.flatMap(({ long }) => long?.slice(2) ?? []) ?? []);
  return meant ? `(did you mean --${meant}?)\n` : '';
};

/** Why a command failed: a stop also cuts off requests to portals, with its own reason. */
const faultOf = (thrown: unknown, { aborted, reason }: AbortSignal): unknown => {
  const isOfStop = aborted && (thrown === reason || (thrown instanceof Error && thrown.cause === reason));
  return isOfStop ? new InterruptedError('interrupted', { hint: 'run the command again' }) : machineFault(thrown);
};

export const createProgram = async (options: ProgramOptions): Promise<Command> => {
  const program = new Command('sluice')
    .description('Publishes folders, manifests and catalogues to portals that speak the Dataset REST API.')
    .version(packageVersion())
    .showSuggestionAfterError(false)
    .showHelpAfterError('(sluice <command> --help shows an example)')
    .configureHelp(wrapping) // which the commands inherit
    .exitOverride();
  const { io } = options;
  if (io) {
    program.configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  }
  for (const [group, commands] of Object.entries(groups)) {
    for (const [usage, description, load] of commands) {
      const name = nameOf(usage);
      const command = program.command(name).description(description).helpGroup(group);
      const declaration = options.isLoaded(name) ? (await load()).commands[name] : undefined;
      if (declaration) declare(command, declaration, options);
    }
  }
  program.commandsGroup('Help:');
  program.helpCommand('help [command|topic|code]', 'explain a command, a file format or an error code');
  program.configureHelp({
    ...wrapping,
    subcommandTerm: (command) => {
      const usage = listed.find(([usage]) => nameOf(usage) === command.name())?.[0];
      return usage?.replace(nameOf(usage), '$& [options]') ?? 'help [command|topic|code]';
    },
  });
  return program.addHelpText(
    'after',
    `\nEvery key of the two files: ${helpTopics.map((topic) => `sluice help ${topic}`).join(', ')}; an error code: sluice help table-header\n`,
  );
};

/** Adds arguments, options, examples and what runs to a command, and its subcommands. */
const declare = (
  command: Command,
  { run, arguments: taken = {}, options = run ? commonOptions : {}, examples, subcommands = {} }: CommandDeclaration,
  program: ProgramOptions,
): void => {
  for (const [form, parameter] of Object.entries(taken)) {
    const { text, fallback, choices } = full(parameter);
    const argument = new Argument(form, text).default(fallback);
    command.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const [flags, parameter] of Object.entries(options)) {
    const { text, choices, fallback, parse } = full(parameter);
    const option = new Option(flags, text).default(fallback);
    if (choices) option.choices(choices);
    command.addOption(parse ? option.argParser(parse) : option);
  }
  command.addHelpText('after', `\nExample:\n${examples.map((line) => `  ${line}`).join('\n')}\n`);
  if (run) {
    const started = run as (...given: unknown[]) => Promise<number>; // commander hands over what was declared
    command.action((...given: unknown[]) => {
      const options = command.optsWithGlobals();
      // A shell passes an unset variable as an empty word, which as a path would be the working directory.
      if ([...command.args, ...Object.values(options).flat()].includes(''))
        command.error('error: an argument or option value is empty; is a shell variable unset?');
      return program.run((io) => started(...given.slice(0, -2), options, io));
    });
  }
  if (!run) command.showHelpAfterError();
  for (const [name, below] of Object.entries(subcommands)) {
    declare(command.command(name).description(below.description), below, program);
  }
};

const full = (parameter: Parameter): Exclude<Parameter, string> =>
  typeof parameter === 'string' ? { text: parameter } : parameter;
