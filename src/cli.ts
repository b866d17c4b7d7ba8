#!/usr/bin/env -S node --max-semi-space-size=8
// argv -> command -> exit code.
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CommandDeclaration, CommandDeclarations, Parameter } from './commands/declaration.ts';
import { exitCodeOfError, exitCodes } from './commands/exit-code.ts';
import { helpTopics, topicText } from './commands/help-topics.ts';
import { type Io, warn } from './commands/io.ts';
import { boundProcess } from './commands/process-end.ts';
import { InterruptedError, machineFault, SluiceError } from './model/errors.ts';
import { keepCompiled } from './util/compile-cache.ts';

// A service that runs for weeks beside others: collect garbage when the heap has grown by half, not later. (The size of
// the young generation, which package.json and the first line ask for, keeps what a job leaves behind out of that heap.)
setFlagsFromString('--heap-growing-percent=50');

// Commands start in half the time when what was compiled once is kept.
keepCompiled(process.env);

const end = boundProcess((line) => warn(io, line), format);

// A reader that has seen enough (`| head`) ends the output, not the work; the exit code stays the command's own.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const io: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  terminal: process.stdout.isTTY === true,
  stop: end.stop,
  force: end.force,
  writing: end.writing,
};

const program = new Command('sluice')
  .description('Publishes folders, manifests and catalogues to portals that speak the Dataset REST API.')
  .version(packageVersion())
  .showHelpAfterError('(sluice <command> --help shows an example)')
  .exitOverride();

/** Each command as `sluice --help` lists it, and its file: only that of the command that is typed is loaded. */
const listed: [usage: string, description: string, load: () => Promise<{ commands: CommandDeclarations }>][] = [
  ['publish <manifest...>', 'publish manifests once and wait for the report', () => import('./commands/publish.ts')],
  ['plan <manifest...>', 'show what publish would do, without writing anything', () => import('./commands/plan.ts')],
  ['apply <plan>', 'carry out a saved plan exactly as reviewed', () => import('./commands/plan.ts')],
  ['release <run|key>', 'let a run or table that a guard held go ahead', () => import('./commands/operate.ts')],
  ['discard <run|key>', 'drop a run or table that a guard held', () => import('./commands/operate.ts')],
  ['history <key>', 'list the versions of a table that went live', () => import('./commands/history.ts')],
  ['remove <key>', 'take a dataset or resource off the portal', () => import('./commands/operate.ts')],
  ['adopt <manifest>', 'link datasets that are already on the portal', () => import('./commands/reconcile.ts')],
  ['rebuild <manifest>', 'restore lost state from the portal', () => import('./commands/reconcile.ts')],
  ['verify <manifest>', 'check that the portal holds what was published', () => import('./commands/reconcile.ts')],
  [
    'start [manifest...]',
    'run the service: workers, watched folders, schedules, the embedded portal',
    () => import('./commands/start.ts'),
  ],
  ['worker', 'run workers only, on another host with the same Redis', () => import('./commands/start.ts')],
  ['schedules [manifest...]', 'list schedules with their next and last runs', () => import('./commands/schedules.ts')],
  ['run-now <manifest...>', 'run manifests now, whatever their schedules say', () => import('./commands/schedules.ts')],
  ['status [key|file]', 'show what is live, and why something is not', () => import('./commands/status.ts')],
  ['log <job|run|key>', 'show the log of a job, a run, or the last job of a key', () => import('./commands/log.ts')],
  ['retry <run|key>', 'rerun what failed in a run, or one key', () => import('./commands/retry.ts')],
  [
    'check [file...]',
    'validate configuration, manifests and tables, or a portal with --portal',
    () => import('./commands/check.ts'),
  ],
  ['init [folder]', 'set up a folder: configuration, sample manifest, inbox', () => import('./commands/init.ts')],
  ['portal', 'run the embedded portal on its own', () => import('./commands/portal.ts')],
  ['demo', 'publish sample datasets to a temporary portal and check the result', () => import('./commands/demo.ts')],
];

let exitCode: number = exitCodes.ok;

const typed = process.argv.slice(2).find((word) => !word.startsWith('-') && word !== 'help');
for (const [usage, description, load] of listed) {
  const name = nameOf(usage);
  const command = program.command(name).description(description);
  const declaration = name === typed ? (await load()).commands[name] : undefined;
  if (declaration) declare(command, declaration);
}
program.configureHelp({
  subcommandTerm: (command) => {
    const usage = listed.find(([usage]) => nameOf(usage) === command.name())?.[0];
    return usage?.replace(nameOf(usage), '$& [options]') ?? 'help [command]';
  },
});
program.addHelpText(
  'after',
  `\n${helpTopics.map((topic) => `sluice help ${topic}`).join(' and ')} list every key of the two files.\n`,
);

const topic = process.argv[2] === 'help' ? helpTopics.find((name) => name === process.argv[3]) : undefined;

try {
  if (topic) process.stdout.write(topicText(topic));
  else await program.parseAsync();
} catch (thrown) {
  const error = machineFault(thrown);
  if (error instanceof CommanderError) exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    exitCode = exitCodeOfError(error);
    if (!(error instanceof InterruptedError && end.isFaulty())) warn(io, format(error));
  }
}
end.over(exitCode);

/** The first word of a usage. */
function nameOf(usage: string): string {
  return usage.split(' ', 1)[0] ?? '';
}

/** Adds arguments, options, examples and what runs to a command, and its subcommands. */
function declare(
  command: Command,
  { arguments: taken = {}, options = {}, examples, run, subcommands = {} }: CommandDeclaration,
): void {
  for (const [form, parameter] of Object.entries(taken)) {
    const { text, fallback } = full(parameter);
    command.argument(form, text, fallback);
  }
  for (const [flags, parameter] of Object.entries(options)) command.addOption(optionOf(flags, full(parameter)));
  command.addHelpText('after', `\nExample:\n${examples.map((line) => `  ${line}`).join('\n')}\n`);
  if (run) {
    const started = run as (...given: unknown[]) => Promise<number>; // commander hands over what was declared
    command.action(async (...given: unknown[]) => {
      exitCode = await started(...given.slice(0, -2), command.optsWithGlobals(), io);
    });
  }
  if (!run) command.showHelpAfterError();
  for (const [name, below] of Object.entries(subcommands)) {
    declare(command.command(name).description(below.description), below);
  }
}

function full(parameter: Parameter): Exclude<Parameter, string> {
  return typeof parameter === 'string' ? { text: parameter } : parameter;
}

function optionOf(flags: string, { text, choices, fallback, parse }: Exclude<Parameter, string>): Option {
  const option = new Option(flags, text);
  if (choices) option.choices(choices);
  if (fallback !== undefined) option.default(fallback);
  if (parse) {
    option.argParser((value) => {
      try {
        return parse(value);
      } catch (error) {
        throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
      }
    });
  }
  return option;
}

function format(error: unknown): string {
  if (error instanceof SluiceError) return `sluice: ${error.message}${error.hint ? `\n-> ${error.hint}` : ''}`;
  return `sluice: a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** The version that package.json states, beside `src` and `dist` alike. */
function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { version: unknown }).version); // our own file
}
