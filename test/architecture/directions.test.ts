// Who may import whom. A room is a folder of src/; the table is drawn in docs/explanation/architecture.md.
import { describe, expect, it } from 'vitest';
import { type Import, importsOf, sourceFiles } from '../support/source-tree.ts';

/** Rooms and files that anybody may import; they import only each other. */
const leaves = new Set([
  'manifest',
  'config',
  'dkan',
  'yaml',
  'recipe',
  'wish.ts',
  'job.ts',
  'report.ts',
  'log.ts',
  'errors.ts',
  'quantity.ts',
  'file-calls.ts',
  'lease.ts',
  'abortable.ts',
  'each-at-once.ts',
  'http-closing.ts',
  'plan-file.ts',
  'ledger/entry.ts',
  'ledger/keys.ts',
]);

/** The composition: puts the rooms together, so it sees everything. */
const composition = new Set([
  'cli.ts',
  'keep-compiled.ts',
  'commands',
  'runtime.ts',
  'workforce.ts',
  'sources.ts',
  'portal-access.ts',
  'service',
]);

/** What every other room may import beside leaves and itself. */
const rooms: Record<string, string[]> = {
  web: ['ledger', 'queue'],
  handlers: ['portal', 'ledger', 'gather', 'intake', 'fetch', 'table', 'plan', 'transform'],
  reconcile: ['portal', 'ledger', 'handlers', 'intake', 'plan', 'fetch', 'table', 'transform'],
  queue: ['redis'],
  gather: ['manifest', 'fetch', 'table'],
  intake: ['table'],
  // The file system steps that survive kills.
  fetch: ['intake'],
  plan: [],
  notify: [],
  portal: [],
  server: ['table'],
  table: [],
  transform: ['table'],
  redis: [],
  ledger: ['redis'],
};

/** Packages that belong to one idea, with the rooms that may use them. */
const packages: Record<string, string[]> = {
  bullmq: ['queue', 'web'],
  ioredis: ['redis', 'queue', 'ledger', 'notify', 'runtime.ts', 'workforce.ts', 'sources.ts', 'web'],
  undici: ['portal', 'notify', 'reconcile', 'fetch'],
  nodemailer: ['notify'],
  'tough-cookie': ['portal'],
  fastify: ['server', 'service', 'web', 'http-closing.ts'],
  '@fastify/busboy': ['server'],
  '@streamparser/json': ['gather'],
  jsonld: ['gather'],
  'csv-parse': ['commands', 'gather', 'transform'],
  piscina: ['table'],
  saxes: ['transform'],
  yauzl: ['transform'],
  chokidar: ['intake', 'service'],
  commander: ['cli.ts'],
  'js-yaml': ['yaml', 'server', 'intake', 'portal'],
};

const roomOf = (path: string): string => {
  const inside = path.replace(/^src\//, '');
  if (leaves.has(inside)) return inside;
  return inside.includes('/') ? inside.slice(0, inside.indexOf('/')) : inside;
};

const files = sourceFiles('src');
const imports = files.flatMap(importsOf);
const place = ({ from, line, specifier }: Import): string => `${from}:${line} imports ${specifier}`;

const isAllowed = (from: string, to: string): boolean => {
  if (from === to || leaves.has(to) || composition.has(from)) return true;
  return !leaves.has(from) && (rooms[from]?.includes(to) ?? false);
};

describe('directions', () => {
  it('know every room', () => {
    const known = new Set([...leaves, ...composition, ...Object.keys(rooms)]);
    expect([...new Set(files.map(roomOf))].filter((room) => !known.has(room))).toEqual([]);
  });

  it('point only where the table says', () => {
    const wrong = imports.filter(({ from, to }) => to !== null && !isAllowed(roomOf(from), roomOf(to)));
    expect(wrong.map(place)).toEqual([]);
  });

  it('stay inside src/', () => {
    expect(imports.filter(({ to }) => to !== null && !to.startsWith('src/')).map(place)).toEqual([]);
  });

  it('keep the two programs apart: the portal and its client meet on the wire only', () => {
    const across = imports.filter(({ from, to }) => {
      const pair = [roomOf(from), to === null ? '' : roomOf(to)].sort().join(' ');
      return pair === 'portal server';
    });
    expect(across.map(place)).toEqual([]);
  });

  it.each(Object.entries(packages))('leave %s to the rooms it belongs to', (name, users) => {
    const using = imports.filter(({ specifier }) => specifier === name || specifier.startsWith(`${name}/`));
    expect(using.length).toBeGreaterThan(0);
    expect(using.filter(({ from }) => !users.includes(roomOf(from))).map(place)).toEqual([]);
  });
});

describe('import cycles', () => {
  it('do not exist, not even for types', () => {
    const arrows = new Map<string, string[]>(files.map((file) => [file, []]));
    for (const { from, to } of imports) if (to !== null) arrows.get(from)?.push(to);
    expect(cyclesOf(arrows)).toEqual([]);
  });
});

/** Each cycle as `a -> b -> a`. */
function cyclesOf(arrows: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: string[]): void => {
    const at = path.indexOf(file);
    if (at !== -1) cycles.push([...path.slice(at), file].join(' -> '));
    if (at !== -1 || done.has(file)) return;
    for (const to of arrows.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of arrows.keys()) walk(file, []);
  return cycles;
}
