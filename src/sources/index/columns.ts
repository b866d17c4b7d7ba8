// Which column of an index is about which key.

import { nearest } from '../../model/yaml/nearest.ts';
import { columnOf, type IndexColumn, indexColumns, plainHeading } from '../manifest/index-columns.ts';
import type { IndexSpec } from '../manifest/index-schema.ts';

/** The columns of an index by heading, and what is wrong with the headings. */
export interface ResolvedColumns {
  byHeading: Map<string, IndexColumn>;
  /** Faults for which the index as a whole cannot be read. */
  faults: { heading: string; message: string }[];
  /** Columns that nobody asked for. */
  remarks: string[];
}

/** Resolves headings: those that the manifest names first, the others by the names of the keys. In CSV each key has one column. */
export const resolveColumns = (
  headings: string[],
  { columns }: Pick<IndexSpec, 'columns'>,
  isCsv: boolean,
): ResolvedColumns => {
  const known = indexColumns();
  const resolved: ResolvedColumns = { byHeading: new Map(), faults: [], remarks: [] };
  const headingOf = new Map<string, string>();
  const take = (heading: string, column: IndexColumn): void => {
    const target = `${column.of}.${column.path.join('.')}`;
    const other = headingOf.get(target);
    if (other !== undefined && other !== heading && isCsv) {
      resolved.faults.push({ heading, message: `the columns \`${other}\` and \`${heading}\` are about the same` });
      return;
    }
    headingOf.set(target, heading);
    resolved.byHeading.set(heading, column);
  };
  for (const [name, heading] of Object.entries(columns)) {
    const column = columnOf(name, known);
    if (column === undefined) continue; // the check of the manifest has told
    if (headings.includes(heading)) take(heading, column);
    else resolved.faults.push({ heading, message: missingHeading(heading, headings) });
  }
  const plain = new Map([...known].map(([name, column]) => [plainHeading(name), column]));
  for (const heading of headings) {
    if (heading === '' || resolved.byHeading.has(heading)) continue;
    const column = columnOf(heading, known) ?? plain.get(plainHeading(heading));
    const mapped = column && headingOf.has(`${column.of}.${column.path.join('.')}`) && isMapped(columns, column, known);
    const fits = column && column.path.at(-1) !== '*' && !(isCsv && column.kind === 'other'); // no cell holds a mapping
    if (fits && !mapped) take(heading, column);
    else resolved.remarks.push(`the column \`${heading}\` is not used${advice(heading, [...known.keys()])}`);
  }
  return resolved;
};

/** True when the manifest names the column of a key: then the usual name of that key is a column like any other. */
const isMapped = (
  columns: Record<string, string>,
  column: IndexColumn,
  known: ReadonlyMap<string, IndexColumn>,
): boolean =>
  Object.keys(columns).some((name) => {
    const mapped = columnOf(name, known);
    return mapped?.of === column.of && mapped.path.join('.') === column.path.join('.');
  });

const missingHeading = (heading: string, headings: string[]): string => {
  const meant = nearest(heading, headings);
  const there = meant === undefined ? `there are ${headings.slice(0, 20).join(', ')}` : `did you mean \`${meant}\`?`;
  return `there is no column \`${heading}\`, which \`index.columns\` names; ${there}`;
};

const advice = (heading: string, known: string[]): string => {
  const meant = nearest(heading, known);
  return meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
};
