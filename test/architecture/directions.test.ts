// Who may import whom. A room is a folder of src/; the rules are the table in docs/explanation/architecture.md.
import { describe, expect, it } from 'vitest';
import { pageText } from '../support/pages.ts';
import { type Import, importsOf, sourceFiles } from '../support/source-tree.ts';

/** Rooms by the table of the architecture page, in its order, each with those that it may import. */
const rooms = new Map(
  [
    ...pageText('docs/explanation/architecture.md').matchAll(/^\| `([a-z-]+\/|cli\.ts|api\.ts)` \|.*\| (.*?) ?\|$/gm),
  ].map(([, room = '', allowed = '']) => [
    room.replace('/', ''),
    [...allowed.matchAll(/`([a-z-]+)\/`/g)].map(([, name = '']) => name),
  ]),
);

/** Packages that belong to one idea, with the rooms that may use them. */
const packages: Record<string, string[]> = {
  bullmq: ['queue'],
  'prom-client': ['service'],
  '@opentelemetry/api': ['util'],
  ioredis: ['redis-server', 'queue', 'state', 'notify', 'service'],
  undici: ['portal-client', 'notify', 'pipeline', 'sources', 'util'],
  nodemailer: ['notify'],
  'tough-cookie': ['portal-client'],
  fastify: ['embedded-portal', 'web', 'util'],
  '@fastify/busboy': ['embedded-portal', 'web'],
  '@streamparser/json': ['sources'],
  jsonld: ['sources'],
  'csv-parse': ['pipeline', 'commands', 'sources', 'tables'],
  piscina: ['util'],
  saxes: ['embedded-portal', 'tables'],
  yauzl: ['tables'],
  chokidar: ['sources', 'service'],
  commander: ['cli.ts', 'commands'],
  'js-yaml': ['embedded-portal'],
  yaml: ['model', 'sources'],
};

const roomOf = (path: string): string => path.split('/')[1] ?? '';

const files = sourceFiles('src');
const imports = files.flatMap(importsOf);
const place = ({ from, line, specifier }: Import): string => `${from}:${line} imports ${specifier}`;

describe('directions', () => {
  it('know every room, and no other', () => {
    expect([...rooms.keys()].sort()).toEqual([...new Set(files.map(roomOf))].sort());
  });

  it('point downwards', () => {
    const order = [...rooms.keys()];
    const upwards = [...rooms].filter(([room, allowed]) =>
      allowed.some((other) => order.indexOf(other) <= order.indexOf(room)),
    );
    expect(upwards).toEqual([]);
  });

  it('are those of the table, all of them used', () => {
    const arrows = new Set(
      imports.flatMap(({ from, to }) => (to === null ? [] : [`${roomOf(from)} -> ${roomOf(to)}`])),
    );
    const known = [...rooms].flatMap(([room, allowed]) => allowed.map((other) => `${room} -> ${other}`));
    const wrong = imports.filter(({ from, to }) => {
      if (to === null || roomOf(from) === roomOf(to)) return false;
      return !known.includes(`${roomOf(from)} -> ${roomOf(to)}`);
    });
    expect(wrong.map(place)).toEqual([]);
    expect(known.filter((arrow) => !arrows.has(arrow))).toEqual([]);
  });

  it('stay inside src/', () => {
    expect(imports.filter(({ to }) => to !== null && !to.startsWith('src/')).map(place)).toEqual([]);
  });

  it('keep the two programs apart: the portal and its client meet on the wire only', () => {
    const across = imports.filter(({ from, to }) => {
      const pair = [roomOf(from), to === null ? '' : roomOf(to)].sort().join(' ');
      return pair === 'embedded-portal portal-client';
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
  const cyclesBetween = (placeOf: (path: string) => string): string[] => {
    const arrows = new Map<string, string[]>(files.map((file) => [placeOf(file), []]));
    for (const { from, to } of imports) {
      if (to !== null && placeOf(from) !== placeOf(to)) arrows.get(placeOf(from))?.push(placeOf(to));
    }
    return cyclesOf(arrows);
  };

  it('do not exist, not even for types', () => {
    expect(cyclesBetween((path) => path)).toEqual([]);
  });

  it('do not exist between the folders of a room either', () => {
    expect(cyclesBetween((path) => path.split('/').slice(0, 3).join('/'))).toEqual([]);
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
