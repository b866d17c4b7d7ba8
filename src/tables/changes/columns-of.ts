// Which columns of two versions of a table are the same ones. Pure.
import type { RowChanges } from '../../model/row-changes.ts';

/** The columns of a version, what portals call them, and what their first values are. */
export interface Head {
  columns: string[];
  names: string[];
  kinds: string[];
}

export interface Columns extends Pick<RowChanges, 'columns'> {
  /** Of each column that both versions have: where it is in them. */
  pairs: [old: number, now: number][];
}

/** Between which columns of both versions a column is; those at the ends are beside nothing. */
const gapOf = ({ names }: Head, at: number, kept: ReadonlySet<string>): string => {
  const isKept = (name: string): boolean => kept.has(name);
  return JSON.stringify([names.slice(0, at).findLast(isKept), names.slice(at + 1).find(isKept)]);
};

/**
 * Columns are the same by the name that portals give them. As many columns that take the place of others, with values of
 * the same kind, were renamed.
 */
export const columnsOf = (old: Head, now: Head): Columns => {
  const kept = new Set(old.names.filter((name) => now.names.includes(name)));
  const others = (head: Head): Map<string, number[]> =>
    Map.groupBy(
      [...head.names.keys()].filter((at) => !kept.has(head.names[at] ?? '')),
      (at) => gapOf(head, at, kept),
    );
  const fresh = others(now);
  const renamed = [...others(old)].flatMap(([gap, lost]): [number, number][] => {
    const instead = fresh.get(gap) ?? [];
    const isSame =
      instead.length === lost.length && lost.every((at, n) => old.kinds[at] === now.kinds[instead[n] ?? -1]);
    return isSame ? lost.map((at, n) => [at, instead[n] ?? 0]) : [];
  });
  const same = [...kept].map((name): [number, number] => [old.names.indexOf(name), now.names.indexOf(name)]);
  const pairs = [...same, ...renamed].sort(([a], [b]) => a - b);
  const [paired, pairedNow] = [new Set(pairs.map(([at]) => at)), new Set(pairs.map(([, at]) => at))];
  return {
    pairs,
    columns: {
      added: now.columns.filter((_, at) => !pairedNow.has(at)),
      removed: old.columns.filter((_, at) => !paired.has(at)),
      renamed: renamed.map(([from, to]) => ({ from: old.columns[from] ?? '', to: now.columns[to] ?? '' })),
    },
  };
};
