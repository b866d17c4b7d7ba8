// A publish on a real terminal: one line says what goes on, and everything else stands above it, whatever the width.
import { expect, it } from 'vitest';
import { bundled } from '../support/bundled.ts';
import { hasTerminals, openTerminal } from '../support/terminal.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isWrite, openGateway } from './support/gateway.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortal } from './support/server.ts';

const isLine = (row: string): boolean => row.startsWith('wide@local: ');

/** A line below it, of a step that takes long. */
const isStep = (row: string): boolean => row.startsWith('  ');

/** What is wrong with the progress line among the rows of a terminal. */
const faultsOf = (rows: string[]): string[] => {
  const last = rows.findLastIndex((row) => row !== '' && !isStep(row));
  return rows.flatMap((row, at) => {
    if (!row.includes('wide@local: ')) return [];
    if (!isLine(row)) return [`inside another line: ${row}`];
    return at === last ? [] : [`left behind: ${row}, ${rows[at + 1]}`];
  });
};

it.skipIf(!hasTerminals)(
  'the progress line fits a terminal that is resized, says why it waits, and leaves nothing behind (needs script of util-linux)',
  async () => {
    const portal = await startPortal();
    const gateway = await openGateway(portal.url);
    const place = makeRemotePlace(gateway.url);
    const long = 'a-name-that-leaves-no-room-for-three-of-them-on-one-line';
    const manifest = place.manifest({
      name: 'wide',
      datasets: Array.from({ length: 8 }, (_, index) => {
        const file = place.write(`data/${index}.csv`, `id\n${index}\n`);
        return { id: `${long}-${index}`, title: `Wide ${index}`, resources: [{ id: 'table', title: 'Table', file }] };
      }),
    });
    let left = 6;
    gateway.after = (passed) => {
      // Once: a read that comes later, such as a probe, must not take the portal away again.
      if (isWrite(passed) && --left === 0) gateway.target = null;
    };
    const command = `'${process.execPath}' '${bundled(new URL('../../src/cli.ts', import.meta.url))}' publish '${manifest}' --state state --verbose`;
    const { PATH, REDIS_SERVER_BIN, NODE_COMPILE_CACHE } = process.env;
    const terminal = await openTerminal(command, {
      cwd: place.dir,
      env: { PATH, REDIS_SERVER_BIN, NODE_COMPILE_CACHE, HOME: place.dir },
    });
    const faults = new Set<string>();
    const lengths = new Set<number>();
    let isSteady = true;
    terminal.onShown(() => {
      const rows = terminal.rows();
      for (const fault of isSteady ? faultsOf(rows) : []) faults.add(fault);
      lengths.add(rows.findLast(isLine)?.length ?? 0);
    });
    const isLineFor = (columns: number, rows = terminal.rows()): boolean => {
      const line = rows.findLast((row) => row !== '' && !isStep(row)) ?? '';
      return line.length === columns - 1 && /^wide@local: .*, paused: /.test(line);
    };
    await waitUntil('the pause', () => isLineFor(80));
    expect(Math.max(...lengths)).toBe(79);
    for (const [before, columns] of [
      [80, 60],
      [60, 100],
    ] as const) {
      await terminal.resize(columns, (rows) => isLineFor(before, rows));
      isSteady = false; // until it is written anew, the line stands as the terminal has broken it
      await waitUntil(`a line for ${columns} columns`, () => isLineFor(columns));
      isSteady = true;
      expect(faultsOf(terminal.rows())).toEqual([]);
    }
    gateway.target = portal.url;
    expect(await terminal.ended, terminal.text()).toBe(0);
    expect([...faults]).toEqual([]);
    expect(terminal.rows().filter(isLine)).toEqual([]);
    expect(terminal.text()).toMatch(/^run \S+: wide to local, 16 items \(16 new\)/m);
  },
);
