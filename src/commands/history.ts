// `sluice history`: the versions of a table that went live.
import { NotFoundError } from '../model/errors.ts';
import type { TableVersion } from '../model/table-history.ts';
import { itemViews } from '../service/items.ts';
import { plural } from '../util/plural.ts';
import type { CommandDeclarations } from './declaration.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, type Io, oneOrAll, print } from './io.ts';
import { withRuntimeOf } from './session.ts';
import { aligned } from './text.ts';

/** Lists the versions of a table, newest first, with what changed in its columns. */
export const historyCommand = async (key: string, options: CommonOptions, io: Io): Promise<number> =>
  withRuntimeOf('history', options, io, async (runtime) => {
    const found = (await itemViews(runtime, key)).filter(({ versions }) => versions.length > 0);
    if (found.length === 0) {
      throw new NotFoundError(`no version of a table "${key}" is known`, { hint: '`sluice status` lists the keys' });
    }
    print(io, options, {
      json: oneOrAll(
        found.map(({ target, versions }) => ({ portal: target.portal, versions: versions.map(shown).reverse() })),
      ),
      lines: found.flatMap(({ target, versions }) => [
        `${key} on ${target.portal}: ${plural(versions.length, 'version')}`,
        ...versionLines(versions).reverse(),
      ]),
    });
    return exitCodes.ok;
  });

const shown = ({ at, ...version }: TableVersion) => ({ at: new Date(at).toISOString(), ...version });

const versionLines = (versions: TableVersion[]): string[] =>
  aligned(
    versions.map((version, index) => {
      const { at, rows, bytes, columns } = version;
      const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
      const shape = `${plural(columns.length, 'column')}${changes(versions[index - 1], version)}`;
      return [`  ${time}`, plural(rows, 'row'), plural(bytes, 'byte'), shape];
    }),
    [1, 2],
  );

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

export const commands = {
  history: {
    arguments: { '<key>': 'key of a resource such as city-finance/budget/spending' },
    examples: ['sluice history city-finance/budget/spending'],
    run: historyCommand,
  },
} satisfies CommandDeclarations;
