// kill -9 of the worker at every boundary of every step, and between the effect of a write and its answer: effect once.
import { beforeAll, describe, expect, it } from 'vitest';
import { openGatedPortal } from './support/gated-portal.ts';
import { type Gateway, isWrite, type Passed } from './support/gateway.ts';
import { makeKillPlace, publishThroughKills } from './support/kill-windows.ts';
import type { Place } from './support/place.ts';
import { doubles, type Reader } from './support/reader.ts';
import { author, publisher } from './support/server.ts';

let reader: Reader;
let gateway: Gateway;
let place: Place;
let killDir: string;
beforeAll(async () => {
  ({ reader, gateway } = await openGatedPortal());
});

/** A place of its own for each series, in the name of one user. */
const openPlace = (username: string): void => {
  ({ place, killDir } = makeKillPlace(gateway, { username }));
};

const boundaries = (steps: string[]): string[] => steps.flatMap((step) => [`${step}/begin`, `${step}/end`]);
const aroundWrites = (writes: string[]): string[] => writes.flatMap((write) => [`${write}/before`, `${write}/after`]);

/** Steps of a resource as they show in the job of a new one: its node step is a create, and no version is there to guard. */
const resourceJobSteps = ['fetch', 'prepare', 'check', 'create', 'attach', 'import', 'verify', 'record'].map(
  (name) => `resource/${name}`,
);

const firstWindows = [
  ...boundaries(['dataset/create', 'dataset/verify', ...resourceJobSteps]),
  ...aroundWrites(['dataset/POST', 'resource/POST', 'resource/attach_file']),
  'run/plan/end',
  'run/ended:/end',
];
const secondWindows = [
  ...boundaries(['dataset/update', 'resource/update', 'resource/prepare', 'resource/guard', 'resource/attach']),
  ...aroundWrites(['dataset/PUT', 'resource/PUT', 'resource/attach_file']),
];

/** One manifest with a dataset for each window; ids begin with the manifest's name, so that titles never meet. */
class Series {
  readonly name: string;
  readonly windows: string[];
  readonly published: boolean;

  constructor(name: string, windows: string[], { published = true } = {}) {
    this.name = name;
    this.windows = windows;
    this.published = published;
  }

  idOf(window: string): string {
    return `${this.name}-${window.toLowerCase().replaceAll(/[/_:]+/g, '-')}`;
  }

  get ids(): string[] {
    return this.windows.map((window) => this.idOf(window));
  }

  /** Version 2 changes both titles and the table. */
  write(version: 1 | 2): string {
    const datasets = this.ids.map((id) => {
      place.write(`data/${id}.csv`, `id,value\n1,a\n2,b\n${version === 2 ? '3,c\n' : ''}`);
      const title = `${id} v${version}`;
      const { published } = this;
      const made = isMade(id) ? { table: [{ select: ['id', 'value'] }] } : {};
      const guarded = isGuarded(id) ? { guard: { rows: '60%' } } : {};
      const table = { id: 'table', title: `${title} table`, file: `data/${id}.csv`, published, ...made, ...guarded };
      return { id, title, published, resources: [table] };
    });
    return place.manifest({ name: this.name, datasets });
  }
}

/** Tables around these steps are made by steps of their own. */
const isMade = (id: string): boolean => /prepare|attach/.test(id);
/** Tables around this step are compared with the previous version them. */
const isGuarded = (id: string): boolean => /guard/.test(id);

/** A write as the windows name it, with the dataset it is for. */
const writeOf = ({ method, path, body }: Passed): { what: string; id: string } => {
  if (path.endsWith('/attach_file')) {
    return { what: 'resource/attach_file', id: /filename="([^"]+)\.csv"/.exec(body)?.[1] ?? '' };
  }
  const { title = '' } = JSON.parse(body) as { title?: string };
  return { what: `${title.endsWith(' table') ? 'resource' : 'dataset'}/${method}`, id: title.split(' ')[0] ?? '' };
};

const killThrough = (series: Series, manifest: string) =>
  publishThroughKills({ place, killDir, gateway }, manifest, {
    windows: series.windows,
    idOf: (window) => series.idOf(window),
    writeOf,
  });

/** The portal holds exactly this version of each dataset. */
const expectVersion = async (series: Series, version: 1 | 2): Promise<void> => {
  const rows = await reader.list();
  expect(doubles(rows)).toEqual([]);
  const own = rows.filter((row) => row.title.startsWith(`${series.name}-`));
  const titles = series.ids.map((id) => `${id} v${version}`);
  expect(own.map((row) => row.title).sort()).toEqual([...titles, ...titles.map((title) => `${title} table`)].sort());
  for (const row of own.filter(({ type }) => type === 'resource')) {
    expect(await reader.count(row.uuid), row.title).toBe(version === 2 ? 3 : 2);
  }
};

/** Writes that reached the portal and succeeded, as `kind dataset`, from a request on. */
const effects = (from: number): string[] =>
  gateway.requests
    .slice(from)
    .filter((passed) => isWrite(passed) && passed.status === 200)
    .map((passed) => writeOf(passed))
    .map(({ what, id }) => `${what} ${id}`)
    .sort();

const eachOnce = (kinds: string[], { ids }: Series): string[] =>
  ids.flatMap((id) => kinds.map((kind) => `${kind} ${id}`)).sort();

const logOf = async (key: string): Promise<string> => (await place.run(['log', key])).out;

describe('a worker killed at every moment of its jobs', { timeout: 900_000 }, () => {
  it('creates each node once and attaches each file once', async () => {
    openPlace(publisher.username);
    const series = new Series('first', firstWindows);
    await killThrough(series, series.write(1));
    await expectVersion(series, 1);
    expect(effects(0)).toEqual(eachOnce(['dataset/POST', 'resource/POST', 'resource/attach_file'], series));
    expect(await logOf('first/first-resource-attach-begin/table')).toContain('resumed after a kill in step attach');
    expect(await logOf('first/first-resource-post-after/table')).toContain('an interrupted create had taken effect');
    expect(await logOf('first/first-resource-post-before/table')).toContain('an interrupted create left nothing');
    expect(await logOf('first/first-resource-attach-file-after/table')).toContain('an interrupted attach had taken');
  });

  it('updates each node once and attaches each changed file once', async () => {
    openPlace(publisher.username);
    const series = new Series('second', secondWindows);
    expect((await place.publish(series.write(1))).code).toBe(0);
    const from = gateway.requests.length;
    await killThrough(series, series.write(2));
    await expectVersion(series, 2);
    expect(effects(from)).toEqual(eachOnce(['dataset/PUT', 'resource/PUT', 'resource/attach_file'], series));
    expect(await logOf('second/second-dataset-put-after')).toContain('an interrupted update had taken effect');
  });

  it('creates each draft once, although no list shows it to the user', async () => {
    openPlace(author.username);
    const series = new Series('third', aroundWrites(['dataset/POST', 'resource/POST']), { published: false });
    const from = gateway.requests.length;
    await killThrough(series, series.write(1));
    await expectVersion(series, 1);
    expect(effects(from)).toEqual(eachOnce(['dataset/POST', 'resource/POST', 'resource/attach_file'], series));
    expect(await logOf('third/third-dataset-post-after')).toContain('an interrupted create had taken effect');
  });
});
