// Writes what is made from the commands, errors and answers of portals: their lists in the reference pages.
// Run it with `node scripts/reference.ts` after a change of one of them; a test fails while the pages are behind.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { exitCodeOfError } from '../src/commands/io.ts';
import { createProgram } from '../src/commands/program.ts';
import * as errors from '../src/model/errors.ts';
import { answers, outcomes } from '../src/portal-client/answers.ts';
import { networkFaults } from '../src/util/http.ts';
import { type MadeFile, page } from './schemas.ts';

const root = join(import.meta.dirname, '..');

/** What `--help` prints of a command. */
const help = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 }).outputHelp();
  return text.trimEnd();
};

/** Help texts of a command and of all commands below it, in their order. */
const helpWithin = (command: Command): string[] => [help(command), ...command.commands.flatMap(helpWithin)];

/** A command of the program. */
export interface CommandHelp {
  name: string;
  /** What `--help` prints of it and of the commands below it. */
  text: string;
}

const allCommands = (): Promise<Command> => createProgram({ isLoaded: () => true, run: async () => undefined });

/** What `sluice --help` prints. */
export const programHelp = async (): Promise<string> => help(await allCommands());

/** Every command, as the program's help lists them. */
export const commandHelp = async (): Promise<CommandHelp[]> =>
  (await allCommands()).commands.map((command) => ({ name: command.name(), text: helpWithin(command).join('\n\n') }));

/** Options that most commands have; the page describes them once. */
const common = ['--config', '--state', '--portal', '--json', '--verbose', '--help'];

const commandList = (commands: CommandHelp[]): string => {
  const rows = commands.map(({ text }) => {
    const [own = ''] = text.split('\n\nUsage:');
    const [, usage = '', description = ''] = /^Usage: (.*)\n\n([\s\S]*?)\n\n/.exec(own) ?? [];
    const options = [...own.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option = '']) => option);
    const others = options.filter((option) => !common.includes(option)).map((option) => `\`${option}\``);
    const form = usage.replace(' [options]', '').replace('sluice ', '');
    const more = others.length === 0 ? '' : ` (${others.join(' ')})`;
    return `- \`${form}\`: ${description.replaceAll(/\s+/g, ' ')}${more}`;
  });
  return rows.join('\n');
};

/** One error of every class and code. */
const everyError = (): errors.SluiceError[] => {
  const codes = Object.keys(errors.errorCodes) as errors.ErrorCode[]; // its own keys
  return Object.values(errors).flatMap((value) => {
    if (typeof value !== 'function' || !(value.prototype instanceof errors.SluiceError)) return [];
    if (value === errors.PortalError) return []; // a base class
    // Each constructor takes a message or a list first, and what is needed to place a fault second.
    const first = value === errors.ConfigError || value === errors.ManifestError ? [] : '';
    const make = value as unknown as new (first: '' | never[], second: object) => errors.SluiceError;
    const table = codes.filter((code) => code.startsWith('table-'));
    return value === errors.TableFaultError
      ? table.map((code) => new make(first, { code, line: 1 }))
      : [new make(first, { method: '', path: '' })];
  });
};

const errorList = (): string => {
  const made = new Map(everyError().map((error) => [error.code, error]));
  const rows = Object.entries(errors.errorCodes).map(([code, meaning]) => {
    const error = made.get(code as errors.ErrorCode); // a key of errorCodes
    if (error === undefined) throw new Error(`no class has the code ${code}`);
    return `- \`${code}\` (${exitCodeOfError(error)}${error.retryable ? ', retried' : ''}): ${meaning}`;
  });
  return rows.join('\n');
};

type Answer = (typeof answers)[keyof typeof answers];

/** How an answer is recognized: `` `406` to an attach, `failed to upload file`, for a name that portals accept ``. */
const recognized = (name: string, { on = [], status, says = [], when = [] }: Answer): string => {
  const codes: readonly string[] = status
    ? []
    : (Object.entries(networkFaults).find(([fault]) => fault === name)?.[1] ?? []);
  const numbers = status?.map((each) => `\`${each < 10 ? `${each}xx` : each}\``).join(', ');
  const start = numbers === undefined ? 'no reply' : numbers + (on.length === 0 ? '' : ` (${on.join(', ')})`);
  const words = [...says, ...codes.filter(Boolean)].map((text) => `\`${text}\``).join(' or ');
  return [start, ...(words === '' ? [] : [words]), ...when].join(', ');
};

const answersPath = 'docs/reference/portal-answers.md';

/** The meanings are those that the page has. */
const answerTable = async (): Promise<string> => {
  const lines = (await readFile(join(root, answersPath), 'utf8')).split('\n').map((line) => line.split(' | '));
  const meanings = new Map(lines.map(([name, , meaning]) => [name, meaning]));
  const rows = Object.entries(answers).map(([name, answer]) => {
    const follows = `${answer.logsIn ? 'logs in again and repeats; then ' : ''}${outcomes[answer.outcome][1]}`;
    const means = meanings.get(`| \`${name}\``) ?? 'TO BE SAID';
    return `| \`${name}\` | ${recognized(name, answer)} | ${means} | ${answer.fault} | ${follows} |`;
  });
  return ['| Situation | Answer | Meaning | Fault of | sluice |', '|---|---|---|---|---|', ...rows].join('\n');
};

/** Makes the pages; the prose around their made parts is kept. */
export const madePages = async (): Promise<MadeFile[]> => [
  await page('docs/reference/commands.md', { commands: commandList(await commandHelp()) }),
  await page('docs/reference/errors.md', { errors: errorList() }),
  await page(answersPath, { answers: await answerTable() }),
];

if (import.meta.main) for (const { path, text } of await madePages()) await writeFile(join(root, path), text);
