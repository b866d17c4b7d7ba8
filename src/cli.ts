#!/usr/bin/env -S node --max-semi-space-size=8
// argv -> command -> exit code.
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { CheckCommandOptions } from './commands/check.ts';
import { exitCodeOfError, exitCodes } from './commands/exit-code.ts';
import { type CommonOptions, type Io, warn } from './commands/io.ts';
import type { TokenAction } from './commands/portal-token.ts';
import { machineFault, SluiceError } from './model/errors.ts';
import { keepCompiled } from './util/compile-cache.ts';
import { durationMs } from './util/quantity.ts';

// A service that runs for weeks beside others: collect garbage when the heap has grown by half, not later. (The size of
// the young generation, which package.json and the first line ask for, keeps what a job leaves behind out of that heap.)
setFlagsFromString('--heap-growing-percent=50');

// Commands start in half the time when what was compiled once is kept.
keepCompiled(process.env);

const stop = new AbortController();
const force = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) {
      force.abort(signal);
      setTimeout(() => process.exit(exitCodes.interrupted), 500).unref();
    }
    stop.abort(signal);
  });
}

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
  stop: stop.signal,
  force: force.signal,
};

const program = new Command('sluice')
  .description('Publishes folders, manifests and catalogues to portals that speak the Dataset REST API.')
  .version(packageVersion())
  .showHelpAfterError('(sluice <command> --help shows an example)')
  .exitOverride();

const common = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (default: config/sluice.yaml where it exists)')
    .option('--state <dir>', 'state folder (default: .sluice)')
    .option('--portal <name|URL>', 'portal to use; for a URL set SLUICE_USERNAME and SLUICE_PASSWORD')
    .option('--json', 'print one JSON value on standard output and nothing else')
    .option('--verbose', 'log every step on standard error');

const duration = (text: string): number => {
  try {
    return durationMs(text);
  } catch {
    throw new InvalidArgumentError('It is a number with ms, s, m, h or d, such as 90s.');
  }
};

const port = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65535) throw new InvalidArgumentError('It is 0 to 65535.');
  return value;
};

let exitCode: number = exitCodes.ok;
/** Runs a command's function and keeps its exit code. */
const finish = async (code: Promise<number>): Promise<void> => {
  exitCode = await code;
};
const example = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExample:\n${lines.map((line) => `  ${line}`).join('\n')}\n`);

example(
  common(program.command('publish').description('run manifests once and wait for the report'))
    .argument('<manifest...>', 'manifest files')
    .option('--wait <duration>', 'how long to wait for a portal that is paused or asks for a pause', duration)
    .option(
      '--refresh',
      "compare with the portal's own listing and with every file of the web, not only with what we remember",
    )
    .option('--create-missing', 'create what is not found on the portal, although it may be there')
    .addOption(
      new Option('--on-drift <choice>', 'for this run, what to do with nodes edited on the portal').choices([
        'hold',
        'overwrite',
        'keep',
      ]),
    )
    .action(async (paths: string[], options: CommonOptions & { wait?: number }) => {
      const { publishCommand } = await import('./commands/publish.ts');
      await finish(
        publishCommand(paths, { ...options, ...(options.wait === undefined ? {} : { waitMs: options.wait }) }, io),
      );
    }),
  'sluice publish jobs/city-finance.yaml',
);

example(
  common(program.command('plan').description('show what a publish would do, item by item; writes nothing'))
    .argument('<manifest...>', 'manifest files')
    .option(
      '--refresh',
      "compare with the portal's own listing and with every file of the web, not only with what we remember",
    )
    .option('-o, --output <file>', 'write the plan for `sluice apply`')
    .action(async (paths: string[], options: CommonOptions) => {
      const { planCommand } = await import('./commands/plan.ts');
      await finish(planCommand(paths, options, io));
    }),
  'sluice plan jobs/city-finance.yaml --refresh -o plan.json',
);

example(
  common(program.command('apply').description('do exactly what a reviewed plan says'))
    .argument('<plan>', 'file written by `sluice plan -o`')
    .option('--strict', 'do nothing at all when one item has moved since')
    .action(async (path: string, options: CommonOptions) => {
      const { applyCommand } = await import('./commands/plan.ts');
      await finish(applyCommand(path, options, io));
    }),
  'sluice apply plan.json',
);

example(
  common(program.command('release').description('let a run that the guard held do what it was held for'))
    .argument('<run>')
    .action(async (runId: string, options: CommonOptions) => {
      const { releaseCommand } = await import('./commands/operate.ts');
      await finish(releaseCommand(runId, options, io));
    }),
  'sluice release 20261121-031500-k3x9a',
);

example(
  common(program.command('discard').description('forget a run that the guard held'))
    .argument('<run>')
    .action(async (runId: string, options: CommonOptions) => {
      const { discardCommand } = await import('./commands/operate.ts');
      await finish(discardCommand(runId, options, io));
    }),
  'sluice discard 20261121-031500-k3x9a',
);

example(
  common(program.command('remove').description('take one item down on purpose'))
    .argument('<key>', 'key of a dataset (with its resources) or a resource')
    .option('--how <way>', 'orphan, unpublish or delete', 'unpublish')
    .action(async (key: string, options: CommonOptions) => {
      const { removeCommand } = await import('./commands/operate.ts');
      await finish(removeCommand(key, options, io));
    }),
  'sluice remove city-finance/budget-2019 --how orphan',
);

example(
  common(program.command('adopt').description('link nodes that are already on the portal; creates nothing'))
    .argument('<manifest>')
    .option('--mapping <file>', 'CSV file with `key,nid` rows for what titles cannot tell')
    .action(async (path: string, options: CommonOptions) => {
      const { adoptCommand } = await import('./commands/reconcile.ts');
      await finish(adoptCommand(path, options, io));
    }),
  'sluice adopt jobs/city-finance.yaml --mapping known.csv',
);

example(
  common(program.command('rebuild').description('restore what we remember from the portal, when Redis was lost'))
    .argument('<manifest>')
    .action(async (path: string, options: CommonOptions) => {
      const { rebuildCommand } = await import('./commands/reconcile.ts');
      await finish(rebuildCommand(path, options, io));
    }),
  'sluice rebuild jobs/city-finance.yaml',
);

example(
  common(program.command('verify').description('prove that the portal holds what was published'))
    .argument('<manifest>')
    .option('--content', 'download every file and compare its bytes')
    .action(async (path: string, options: CommonOptions) => {
      const { verifyCommand } = await import('./commands/reconcile.ts');
      await finish(verifyCommand(path, options, io));
    }),
  'sluice verify jobs/city-finance.yaml --content',
);

example(
  common(program.command('start').description('the service: workers, watched folders, schedules, the embedded portal'))
    .argument('[manifest...]', 'manifests in addition to those of the configuration')
    .action(async (paths: string[], options: CommonOptions) => {
      const { startCommand } = await import('./commands/start.ts');
      await finish(startCommand(paths, options, io));
    }),
  'sluice start --config config/sluice.yaml',
);

example(
  common(program.command('worker').description('workers only, for a second host on the same Redis')).action(
    async (options: CommonOptions) => {
      const { workerCommand } = await import('./commands/start.ts');
      await finish(workerCommand(options, io));
    },
  ),
  'REDIS_URL=redis://queue:6379 sluice worker',
);

example(
  common(program.command('schedules').description('when every manifest runs next, and how it ended last'))
    .argument('[manifest...]', 'manifest files (default: those of the configuration and of the running service)')
    .action(async (paths: string[], options: CommonOptions) => {
      const { schedulesCommand } = await import('./commands/schedules.ts');
      await finish(schedulesCommand(paths, options, io));
    }),
  'sluice schedules',
);

example(
  common(program.command('run-now').description('run manifests at once, whatever their schedules say'))
    .argument('<manifest...>', 'manifest files, or names of manifests that are served')
    .option('--no-wait', 'do not wait for the report')
    .action(async (named: string[], options: CommonOptions & { wait?: boolean }) => {
      const { runNowCommand } = await import('./commands/run-now.ts');
      await finish(runNowCommand(named, options, io));
    }),
  'sluice run-now city-finance --no-wait',
);

example(
  common(program.command('status').description('is it live, and if not, why?'))
    .argument('[key|file]', 'a key such as city-finance/budget/spending, or a file')
    .action(async (what: string | undefined, options: CommonOptions) => {
      const { statusCommand } = await import('./commands/status.ts');
      await finish(statusCommand(what, options, io));
    }),
  'sluice status data/spending.csv',
);

example(
  common(program.command('log').description('the log of a job, a run, or the last job of a key'))
    .argument('<job|run|key>')
    .option('-f, --follow', 'go on printing until the job ends')
    .action(async (what: string, options: CommonOptions & { follow?: boolean }) => {
      const { logCommand } = await import('./commands/log.ts');
      await finish(logCommand(what, options, io));
    }),
  'sluice log city-finance/budget/spending',
);

example(
  common(program.command('retry').description('run again what failed in a run, or one key'))
    .argument('<run|key>')
    .action(async (what: string, options: CommonOptions) => {
      const { retryCommand } = await import('./commands/retry.ts');
      await finish(retryCommand(what, options, io));
    }),
  'sluice retry 20261121-031500-k3x9a',
);

example(
  common(program.command('check').description('check configuration, manifests and tables; with --portal, a portal'))
    .argument('[file...]', 'configuration, manifest, CSV or catalogue files')
    .option('--encoding <name>', 'encoding of the tables where nothing tells it, such as windows-1251')
    .option('--fix', 'write one table with its mends to a new file')
    .option('-o, --output <file>', 'the new file of --fix; it must not exist')
    .addOption(
      new Option('--separator <name>', 'separator of the new file; otherwise the table keeps its own').choices([
        'comma',
        'semicolon',
        'tab',
        'bar',
      ]),
    )
    .addOption(
      new Option('--report <form>', 'everything that was found, in this form').choices(['text', 'json', 'html']),
    )
    .action(async (paths: string[], options: CheckCommandOptions) => {
      const { checkCommand } = await import('./commands/check.ts');
      await finish(checkCommand(paths, options, io));
    }),
  'sluice check jobs/city-finance.yaml data/spending.csv',
  'sluice check --portal city',
  'sluice check spending.csv --report html > spending.html',
  'sluice check spending.csv --fix -o spending-mended.csv',
);

example(
  common(program.command('init').description('ask for the portal and write a configuration and a sample manifest'))
    .argument('[folder]', 'where to write', '.')
    .option('--url <url>', 'address of the portal; without it the embedded portal is used')
    .option('--username <name>', 'user name on the portal')
    .option('--password-file <file>', 'file that holds the password (asked for otherwise)')
    .option('--yes', 'ask nothing')
    .action(async (folder: string, options: CommonOptions & Record<string, string>) => {
      const { initCommand } = await import('./commands/init.ts');
      await finish(initCommand(folder, options, io));
    }),
  'sluice init my-city',
);

const portal = example(
  program
    .command('portal')
    .description('run the embedded portal alone')
    .option('--config <file>', 'configuration file (default: config/sluice.yaml where it exists)')
    .option('--state <dir>', 'state folder (default: .sluice)')
    .option('--portal <name>', 'embedded portal of the configuration (default: the only one, or local)')
    .option('--port <n>', 'port (default: as configured, else a free one)', port)
    .option('--host <address>', 'address to listen on (default: as configured, else 127.0.0.1)')
    .option('--data <dir>', 'folder of its store (default: as configured, else portal/<name> in the state folder)')
    .option('--users <file>', 'users file')
    .option('--profile <name>', 'behaviour to show (default: as configured, else spec)')
    .option('--races <on|off>', 'let overlapping requests lose updates (default: on under the dkan- profiles)')
    .option('--seed <file>', 'fill an empty store with users, terms and next ids')
    .option('--faults <file>', 'inject faults by these rules, to rehearse them')
    .action(async (options: Record<string, string>) => {
      const { portalCommand } = await import('./commands/portal.ts');
      await finish(portalCommand(options, io));
    }),
  'sluice portal --port 8080 --data /srv/portal --users users.yaml',
  'sluice portal --config config/sluice.yaml --portal local',
);

example(
  portal
    .command('backup <folder>')
    .description(
      'copy the store (--data) to a new folder while the portal runs; `sluice portal --data` serves the copy',
    )
    .action(async (folder: string, _options: object, command: Command) => {
      const { portalBackupCommand } = await import('./commands/portal-backup.ts');
      await finish(portalBackupCommand(folder, command.optsWithGlobals(), io));
    }),
  'sluice portal backup /backups/portal-monday --data /srv/portal',
);

const tokenCommand = example(
  portal
    .command('token')
    .description('access tokens of the portal, for programs that keep no session; needs `tokens: true`')
    .showHelpAfterError(),
  'sluice portal token add ann --label "nightly job" --data /srv/portal',
  'sluice portal token list --portal local',
);

/** Runs `sluice portal token` with the options of `sluice portal` and its own. */
const token = async (what: TokenAction, command: Command): Promise<void> => {
  const { portalTokenCommand } = await import('./commands/portal-token.ts');
  await finish(portalTokenCommand(what, command.optsWithGlobals(), io));
};

example(
  tokenCommand
    .command('add <user>')
    .description('make a token for an account and print it, this once')
    .option('--label <text>', 'what it is for, shown by list')
    .action((user: string, { label }: { label?: string }, command: Command) =>
      token({ action: 'add', user, ...(label === undefined ? {} : { label }) }, command),
    ),
  'sluice portal token add ann --label "nightly job"',
);

example(
  tokenCommand
    .command('list')
    .description('tokens with number, account, time and label; never the tokens themselves')
    .option('--json', 'print one JSON value on standard output and nothing else')
    .action((_options: object, command: Command) => token({ action: 'list' }, command)),
  'sluice portal token list --json',
);

example(
  tokenCommand
    .command('revoke <number>')
    .description('make a token worthless from now on')
    .action((id: string, _options: object, command: Command) => token({ action: 'revoke', id }, command)),
  'sluice portal token revoke 3',
);

example(
  program
    .command('demo')
    .description('publish three datasets to an embedded portal in a temporary folder, and prove it')
    .option('--keep', 'leave it running to look at')
    .action(async (options: { keep?: boolean }) => {
      const { demoCommand } = await import('./commands/demo.ts');
      await finish(demoCommand(options, io));
    }),
  'sluice demo --keep',
);

try {
  await program.parseAsync();
} catch (thrown) {
  const error = machineFault(thrown);
  if (error instanceof CommanderError) exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    exitCode = exitCodeOfError(error);
    warn(io, tell(error));
  }
}
process.exitCode = exitCode;

function tell(error: unknown): string {
  if (error instanceof SluiceError) return `sluice: ${error.message}${error.hint ? `\n-> ${error.hint}` : ''}`;
  return `sluice: a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

/** The version that package.json states, beside `src` and `dist` alike. */
function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return String((JSON.parse(text) as { version: unknown }).version); // our own file
}
