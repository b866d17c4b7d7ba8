// The guard of a table, on histories of kinds of tables and on incidents: what is right goes, what is ruined is held.
import { describe, expect, it } from 'vitest';
import {
  type CheckedTable,
  type FormerVersions,
  type LiveVersion,
  liveVersionOf,
  type TableGuard,
  versionsOf,
  withFormer,
} from '../../../src/model/table-history.ts';
import { tableGuardFaults } from '../../../src/pipeline/plan/table-guard.ts';
import { checkFile } from '../../../src/tables/inspect/inspect-file.ts';
import { defaultRowBytes } from '../../../src/tables/scan/dialect.ts';
import { pageText } from '../../support/pages.ts';
import { dailyTable, incidents, tableKinds } from './support/table-histories.ts';

const guard: TableGuard = { rows: 0.2, columns: 'grow', nulls: 0.5 };
const seed = 17;
const cancelled = new Int32Array(new SharedArrayBuffer(4));

const check = (text: string): CheckedTable => {
  const content = Buffer.from(text);
  const answer = checkFile({ path: 'table.csv', content, rowBytes: defaultRowBytes, cancelled });
  if (answer.kind !== 'inspected') throw new Error(answer.message);
  const { rows, bytes, sha256, columns } = answer.inspection;
  return { rows, bytes, sha256, contents: columns.map(({ name, mostly: kind, empty }) => ({ name, kind, empty })) };
};

/** A table with what is known of its versions; a held one is released. */
class Published {
  live: LiveVersion | null = null;
  former: FormerVersions | null = null;
  held: string[] = [];
  #at = 0;

  faultsOf(table: CheckedTable): string[] {
    const { live, former } = this;
    return live === null ? [] : tableGuardFaults(table, { guard, live, versions: versionsOf(former, live) });
  }

  publish(table: CheckedTable): void {
    this.held.push(...this.faultsOf(table).slice(0, 1));
    const { live } = this;
    if (live) this.former = withFormer(this.former, live);
    this.#at += 86_400_000;
    this.live = liveVersionOf(table, { at: this.#at, before: live, guard });
  }
}

const publishedOf = (versions: string[]): Published => {
  const published = new Published();
  for (const version of versions) published.publish(check(version));
  return published;
};

describe('the guard of a table', () => {
  const page = pageText('docs/how-to/guard-tables.md');

  it('holds the incidents of a daily table of 31,000 rows, each for its own reason', () => {
    const daily = publishedOf([0, 1, 2, 3, 4].map((day) => dailyTable(31_000, day)));
    expect(daily.held).toEqual([]);
    const rows = incidents.map(
      ([name, ruin]) => [name, daily.faultsOf(check(ruin(dailyTable(31_000, 5)))).join('; ')] as const,
    );
    expect(rows.filter(([, why]) => why === '')).toEqual([]);
    for (const [name, why] of rows) expect(page).toContain(`| ${name} | ${why} |`);
  });

  it('holds at most one in a hundred versions wrongly, of twenty kinds of tables, and their incidents', () => {
    const kinds = tableKinds(seed).map(({ name, versions }) => {
      const published = publishedOf(versions);
      const last = versions.at(-1) ?? '';
      const ruined = incidents
        .map(([, ruin]) => check(ruin(last)))
        .filter(({ sha256 }) => sha256 !== check(last).sha256);
      const caught = ruined.filter((table) => published.faultsOf(table).length > 0).length;
      return {
        name,
        versions: versions.length,
        held: published.held.length,
        incidents: `${caught} of ${ruined.length}`,
      };
    });
    const sum = (of: (kind: (typeof kinds)[number]) => number): number =>
      kinds.reduce((total, kind) => total + of(kind), 0);
    const share = sum(({ held }) => held) / sum(({ versions }) => versions);
    expect(kinds).toHaveLength(20);
    expect(share).toBeLessThanOrEqual(0.01);
    for (const { name, versions, held, incidents: caught } of kinds) {
      expect(page).toContain(`| ${name} | ${versions} | ${held} | ${caught} |`);
    }
  });
});
