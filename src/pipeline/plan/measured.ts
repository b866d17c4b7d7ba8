// Fills what nobody wrote of a dataset from its tables: the time and area that they cover, and what their columns hold.
import { hash } from 'node:crypto';
import { readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { datasetFields, fieldItems, resourceFields } from '../../dataset-api/fields.ts';
import type { DatasetMetadata } from '../../dataset-api/metadata.ts';
import { boxWkt } from '../../dataset-api/wkt.ts';
import { SluiceError } from '../../model/errors.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { DatasetWish, ResourceWish } from '../../model/wish.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { withFields } from '../../sources/gather/dataset-wish.ts';
import { WishList } from '../../sources/wish-list.ts';
import { type MeasuredColumn, type MeasuredTable, measureTable } from '../../tables/measure/measure.ts';
import { gone, makeFolder, sweepFolder, unless, writeDurably } from '../../util/files.ts';
import { parsedJson } from '../../util/json.ts';
import { plural } from '../../util/plural.ts';

/** What is known of a file is forgotten when no run has measured it for so long, milliseconds. */
const forgottenMs = 30 * 86_400_000;

interface MeasureTools {
  /** Holds `measured/`, what is known of files, and `plans/`. */
  stateDir: string;
  signal: AbortSignal;
  /** False where a run has only some tables of a dataset, as of a watched folder: they do not tell what all of it covers. */
  isWhole: boolean;
}

/** The wishes with what was measured, in a new list; the given one is closed. What cannot be measured stays as it is. */
export const measuredWishes = async (wishes: WishList, tools: MeasureTools): Promise<WishList> => {
  const list = new WishList(join(tools.stateDir, 'plans'));
  try {
    for await (const page of wishes.pages())
      for (const wish of page) await list.add(measured(wish, await tablesOf(wish, tools), tools.isWhole));
    await sweepFolder(join(tools.stateDir, 'measured'), forgottenMs);
    return list;
  } catch (error) {
    await list.close();
    throw error;
  } finally {
    await wishes.close();
  }
};

/** A wish with what its measured tables, by the key of their resource, add to it. Pure. */
export const measured = (
  wish: DatasetWish,
  tables: ReadonlyMap<string, MeasuredTable>,
  isWhole: boolean,
): DatasetWish => {
  const resources = wish.resources.map((resource) => {
    const table = tables.get(resource.key);
    if (!table || fieldItems(resource.fields, 'body').length > 0) return resource;
    return withFields(resource, resourceFields({ description: columnsText(table) }, resource.source));
  });
  if (!isWhole || tables.size === 0) return { ...wish, resources };
  const isOpen = (field: string): boolean => fieldItems(wish.fields, field).length === 0;
  const columns = [...tables.values()].map((table) => table.columns);
  const temporal = isOpen('field_temporal_coverage') ? timeOf(columns) : null;
  const wkt = isOpen('field_spatial') ? areaOf(columns) : null;
  if (temporal === null && wkt === null) return { ...wish, resources };
  const names = [...(temporal ? ['time'] : []), ...(wkt ? ['area'] : [])].join(' and ');
  const found: Partial<DatasetMetadata> = { ...(temporal && { temporal }), ...(wkt && { spatial: { wkt } }) };
  const { field_additional_info: note, ...fields } = datasetFields({
    ...found,
    additionalInfo: { Measured: `${names}, from ${plural(tables.size, 'table')}` },
  });
  const info = [...fieldItems(wish.fields, 'field_additional_info'), ...fieldItems({ note }, 'note')];
  return { ...withFields(wish, { ...fields, field_additional_info: { und: info } }), resources };
};

const columnsText = ({ rows, columns }: MeasuredTable): string => {
  const lines = columns.map(({ name, kind, empty, least, most }) => {
    const range = least === null ? '' : least === most ? `, ${least}` : `, ${least} to ${most}`;
    return `- ${name}: ${kind}${range}${empty > 0 ? `, ${plural(empty, 'empty cell')}` : ''}`;
  });
  return [`Columns, measured from ${plural(rows, 'row')}:`, '', ...lines].join('\n');
};

const timeNames =
  /^(?:date|datum|fecha|data|day|tag|jour|time|zeit|timestamp|period|month|monat|mois|year|jahr|an|año|année|anno)$/i;

/** First and last day of the one column that says when: the only one with dates or years, else the one that is called so. */
const timeOf = (tables: readonly MeasuredColumn[][]): DatasetMetadata['temporal'] | null => {
  const spans = tables.flatMap((columns) => {
    const dated = columns.filter(({ kind }) => kind === 'date' || kind === 'year');
    const years = dated.filter(({ kind, name }) => kind === 'date' || timeNames.test(name));
    const named = years.filter(({ name }) => timeNames.test(name));
    const [column, ...others] = years.length === 1 ? years : named;
    if (column === undefined || others.length > 0 || column.least === null || column.most === null) return [];
    const isYear = column.kind === 'year';
    return [isYear ? [`${column.least}-01-01`, `${column.most}-12-31`] : [dayOf(column.least), dayOf(column.most)]];
  });
  const [from] = spans.map(([begin = '']) => begin).sort();
  const ends = spans.map(([, end = '']) => end).sort();
  const to = ends.at(-1);
  return from === undefined || to === undefined ? null : { from, to };
};

const dayOf = (text: string): string => text.slice(0, 10);

const latitude = /^(?:lat|latitude|breite|breitengrad|latitud)$/i;
const longitude = /^(?:lon|lng|long|longitude|länge|längengrad|longitud)$/i;

/** The box around all points (degrees); null where no table has them, or a value is no degree. */
const areaOf = (tables: readonly MeasuredColumn[][]): string | null => {
  const boxes = tables.flatMap((columns) => {
    const [x, y] = [longitude, latitude].map((name) => columns.filter((column) => name.test(column.name)));
    if (x?.length !== 1 || y?.length !== 1) return [];
    return [[x[0]?.least, y[0]?.least, x[0]?.most, y[0]?.most].map((text) => Number(text ?? NaN))];
  });
  const outermost = (most: typeof Math.min, side: number): number => most(...boxes.map((box) => box[side] ?? NaN));
  return boxWkt([outermost(Math.min, 0), outermost(Math.min, 1), outermost(Math.max, 2), outermost(Math.max, 3)]);
};

/** The measured tables of a wish; those that cannot be measured are left out: what is wrong with them their jobs say. */
const tablesOf = async (wish: DatasetWish, tools: MeasureTools): Promise<Map<string, MeasuredTable>> => {
  const tables = new Map<string, MeasuredTable>();
  for (const resource of wish.resources) {
    const table = await tableOf(resource, tools).catch((error: unknown) => {
      if (error instanceof SluiceError && !tools.signal.aborted) return null;
      throw error;
    });
    if (table !== null) tables.set(resource.key, table);
  }
  return tables;
};

/** A file that did not change since it was measured is not read again. */
const tableOf = async ({ source, recipe, reading, import: mode }: ResourceWish, { stateDir, signal }: MeasureTools) => {
  if (source.kind !== 'file' || mode !== 'auto' || recipe?.asked || !isTabular(source.name)) return null;
  const task = { path: source.path, encoding: reading?.encoding, skipRows: reading?.skipRows };
  if (source.claim !== undefined) return measureTable(task, signal); // its path is never seen again
  const dir = join(stateDir, 'measured');
  const path = join(dir, `${hash('sha256', JSON.stringify(task))}.json`);
  const kept = parsedJson(await unless(readFile(path, 'utf8'), ['ENOENT'], '')) as Kept | undefined; // written below
  const facts = await fingerprintFile(source.path, kept?.facts ?? null, signal);
  if (facts === kept?.facts) {
    const now = new Date();
    await unless(utimes(path, now, now), gone, undefined);
    return kept.table;
  }
  const table = kept?.facts.sha256 === facts.sha256 ? kept.table : await measureTable(task, signal);
  await makeFolder(dir, 0o700);
  await writeDurably(path, JSON.stringify({ facts, table } satisfies Kept));
  return table;
};

interface Kept {
  facts: Awaited<ReturnType<typeof fingerprintFile>>;
  table: MeasuredTable;
}
