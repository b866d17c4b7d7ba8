// `sluice history`: the versions of a table that went live.
import { NotFoundError } from '../model/errors.ts';
import { type TableVersion, versionsOf } from '../model/table-history.ts';
import type { Runtime } from '../service/runtime.ts';
import { plural } from '../util/plural.ts';
import { type CommandDeclarations, commonOptions } from './declaration.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, type Io, say, sayText } from './io.ts';
import { withRuntimeOf } from './session.ts';

/** Lists the versions of a table, newest first, with what changed in its columns. */
export const historyCommand = async (key: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('history', options, io, async (runtime) => {
    const found = await versionsByPortal(runtime, key);
    if (found.length === 0) {
      throw new NotFoundError(`no version of a table "${key}" is known`, { hint: '`sluice status` lists the keys' });
    }
    if (options.json) {
      const json = found.map(({ portal, versions }) => ({ portal, versions: versions.map(shown).reverse() }));
      sayText(io, JSON.stringify(json.length === 1 ? json[0] : json, null, 2));
      return exitCodes.ok;
    }
    for (const { portal, versions } of found) {
      say(io, `${key} on ${portal}: ${plural(versions.length, 'version')}`);
      for (const line of lines(versions)) say(io, line);
    }
    return exitCodes.ok;
  });

const versionsByPortal = async (
  runtime: Runtime,
  key: string,
): Promise<{ portal: string; versions: TableVersion[] }[]> => {
  const found: { portal: string; versions: TableVersion[] }[] = [];
  for (const { portal } of await runtime.targetsOfKey(key)) {
    const live = (await runtime.ledger.entry(portal, key))?.version ?? null;
    const versions = versionsOf(await runtime.ledger.formerVersions(portal, key), live);
    if (versions.length > 0) found.push({ portal, versions });
  }
  return found;
};

const shown = ({ at, rows, bytes, columns }: TableVersion) => ({
  at: new Date(at).toISOString(),
  rows,
  bytes,
  columns,
});

const lines = (versions: TableVersion[]): string[] => {
  const rowsOf = ({ rows }: TableVersion): string => plural(rows, 'row');
  const bytesOf = ({ bytes }: TableVersion): string => plural(bytes, 'byte');
  const [rowsWidth, bytesWidth] = [rowsOf, bytesOf].map((of) => Math.max(...versions.map((each) => of(each).length)));
  return versions
    .map((version, index) => {
      const { at, columns } = version;
      const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
      const size = `${rowsOf(version).padStart(rowsWidth ?? 0)}  ${bytesOf(version).padStart(bytesWidth ?? 0)}`;
      return `  ${time}  ${size}  ${plural(columns.length, 'column')}${changes(versions[index - 1], version)}`;
    })
    .reverse();
};

const changes = (before: TableVersion | undefined, { columns }: TableVersion): string => {
  if (before === undefined) return '';
  const then = new Map(before.columns.map(({ name, kind }) => [name, kind]));
  const now = new Map(columns.map(({ name, kind }) => [name, kind]));
  const parts = [
    ...columns.filter(({ name }) => !then.has(name)).map(({ name }) => `+${name}`),
    ...before.columns.filter(({ name }) => !now.has(name)).map(({ name }) => `-${name}`),
    ...columns.flatMap(({ name, kind }) => {
      const former = then.get(name);
      return former === undefined || former === kind ? [] : [`${name}: ${former} -> ${kind}`];
    }),
  ];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

/** `sluice history` on the command line. */
export const commands = {
  history: {
    arguments: { '<key>': 'key of a resource such as city-finance/budget/spending' },
    options: commonOptions,
    examples: ['sluice history city-finance/budget/spending'],
    run: historyCommand,
  },
} satisfies CommandDeclarations;
