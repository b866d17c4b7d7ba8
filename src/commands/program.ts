// The command line: every command with its arguments, options and help.
import { Argument, Command, CommanderError, Option } from 'commander';
import { InterruptedError, machineFault, UsageError } from '../model/errors.ts';
import { packageVersion } from '../util/installation.ts';
import { completionScript, shells } from './completion.ts';
import { type CommandDeclaration, type CommandDeclarations, commonOptions, type Parameter } from './declaration.ts';
import { errorJson, errorText, exitCodeOfError, exitCodes } from './exit.ts';
import { helpTopics, topicText } from './help-topics.ts';
import { type Io, sayText, warn } from './io.ts';

/** Each command as `sluice --help` lists it, and its file: only that of the command that is typed is loaded. */
const listed: [usage: string, description: string, load: () => Promise<{ commands: CommandDeclarations }>][] = [
  ['publish <manifest...>', 'publish manifests once and wait for the report', () => import('./publish.ts')],
  ['plan <manifest...>', 'show what publish would do, without writing anything', () => import('./plan.ts')],
  ['apply <plan>', 'carry out a saved plan exactly as reviewed', () => import('./plan.ts')],
  ['release <run|key>', 'let a held run or table go ahead', () => import('./operate.ts')],
  ['discard <run|key>', 'discard a held run or table', () => import('./operate.ts')],
  ['cancel <run>', 'stop a run after its current step', () => import('./operate.ts')],
  ['pause <portal>', 'pause the jobs of a portal', () => import('./operate.ts')],
  ['resume <portal>', 'resume the jobs of a paused portal', () => import('./operate.ts')],
  ['history <key>', 'list the published versions of a table', () => import('./runs.ts')],
  ['remove <key>', 'remove a dataset or resource from the portal', () => import('./operate.ts')],
  ['adopt <manifest>', 'link datasets that are already on the portal', () => import('./reconcile.ts')],
  ['rebuild <manifest>', 'restore lost state from the portal', () => import('./reconcile.ts')],
  ['export <portal>', 'export a portal to a folder; later runs fetch only changes', () => import('./export.ts')],
  ['verify <manifest>', 'check that the portal holds what was published', () => import('./reconcile.ts')],
  [
    'start [manifest...]',
    'run the service: workers, watched folders, schedules, the embedded portal',
    () => import('./start.ts'),
  ],
  ['worker', 'run workers only, on another host with the same Redis', () => import('./start.ts')],
  ['schedules [manifest...]', 'list schedules with their next and last runs', () => import('./schedules.ts')],
  ['run-now <manifest...>', 'run manifests now, regardless of their schedules', () => import('./schedules.ts')],
  ['status [key|file]', 'show what is live, and why something is not', () => import('./status.ts')],
  ['notices', 'send test notices', () => import('./notices.ts')],
  ['runs', 'list the last runs', () => import('./runs.ts')],
  ['report <run>', 'print the report of a run: text, html, csv, md, json', () => import('./runs.ts')],
  ['log <job|run|key>', 'show the log of a job, a run, or the last job of a key', () => import('./runs.ts')],
  ['retry [run|key]', 'retry what failed in a run or with one error code, or one key', () => import('./operate.ts')],
  [
    'check [file...]',
    'validate configuration, manifests and tables, or a portal with --portal',
    () => import('./check.ts'),
  ],
  ['init [folder]', 'set up a folder: configuration, sample manifest, inbox', () => import('./init.ts')],
  ['portal', 'run the embedded portal on its own', () => import('./portal.ts')],
  [
    'completion <shell>',
    'print a script that completes commands in bash, zsh or fish',
    async () => ({ commands: { completion } }),
  ],
  ['demo', 'publish sample datasets to a temporary portal and check the result', () => import('./demo.ts')],
];

/** It is declared here because it needs all the others. */
const completion: CommandDeclaration = {
  arguments: { '<shell>': { text: '', choices: shells } },
  options: {},
  examples: ['source <(sluice completion bash)', 'sluice completion fish > ~/.config/fish/completions/sluice.fish'],
  run: async (shell: (typeof shells)[number], _options: object, io: Io) => {
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
  const isJson = words.includes('--json');
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
  const topic = words[0] === 'help' ? helpTopics.find((name) => name === words[1]) : undefined;
  try {
    if (topic) io.stdout.write(topicText(topic));
    else await program.parseAsync(words, { from: 'user' });
  } catch (thrown) {
    const error = faultOf(thrown, io.stop);
    const isUsage = error instanceof CommanderError;
    exitCode = isUsage ? (error.exitCode === 0 ? exitCodes.ok : exitCodes.usage) : exitCodeOfError(error);
    if (!isUsage && !(error instanceof InterruptedError && isReported())) warn(io, errorText(error));
    if (isJson && exitCode !== exitCodes.ok) sayText(io, errorJson(isUsage ? new UsageError(error.message) : error));
  }
  io.line?.clear();
  return exitCode;
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
    .showHelpAfterError('(sluice <command> --help shows an example)')
    .configureHelp(wrapping) // which the commands inherit
    .exitOverride();
  const { io } = options;
  if (io) {
    program.configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  }
  for (const [usage, description, load] of listed) {
    const name = nameOf(usage);
    const command = program.command(name).description(description);
    const declaration = options.isLoaded(name) ? (await load()).commands[name] : undefined;
    if (declaration) declare(command, declaration, options);
  }
  program.configureHelp({
    ...wrapping,
    subcommandTerm: (command) => {
      const usage = listed.find(([usage]) => nameOf(usage) === command.name())?.[0];
      return usage?.replace(nameOf(usage), '$& [options]') ?? 'help [command]';
    },
  });
  return program.addHelpText(
    'after',
    `\nEvery key of the two files: ${helpTopics.map((topic) => `sluice help ${topic}`).join(', ')}\n`,
  );
};

const nameOf = (usage: string): string => usage.split(' ', 1)[0] ?? '';

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
  for (const [flags, parameter] of Object.entries(options)) command.addOption(optionOf(flags, full(parameter)));
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

const optionOf = (flags: string, { text, choices, fallback, parse }: Exclude<Parameter, string>): Option => {
  const option = new Option(flags, text);
  if (choices) option.choices(choices);
  if (fallback !== undefined) option.default(fallback);
  return parse ? option.argParser(parse) : option;
};
