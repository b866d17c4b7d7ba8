// What a manifest says of tables: steps, bad rows, schemas and guards; and the recipes that follow from it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { preparedName } from '../../../src/model/recipe/recipe.ts';
import type { ResourceWish } from '../../../src/model/wish.ts';
import { droppedNames } from '../../../src/sources/drop/drop-target.ts';
import { loadResourceDetails } from '../../../src/sources/drop/gather-drop.ts';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

const manifest = (resource: string, defaults = '{}'): string =>
  `name: m\ndefaults: { resource: ${defaults} }\ndatasets:\n  - id: d\n    title: D\n    resources:\n      - ${resource}\n`;

const load = async (resource: string, defaults?: string, dir = tempDir()) =>
  loadManifest(writeText(dir, 'm.yaml', manifest(resource, defaults)));

const wishesOf = async (resource: string, defaults?: string, dir?: string): Promise<ResourceWish[]> =>
  (await gatherManifest(await load(resource, defaults, dir))).flatMap(({ resources }) => resources);

const wishOf = async (resource: string, defaults?: string, dir?: string): Promise<ResourceWish> => {
  const [wish] = await wishesOf(resource, defaults, dir);
  if (!wish) throw new Error('no resource');
  return wish;
};

describe('a recipe', () => {
  it('is only there where the file does not go as it is', async () => {
    expect((await wishOf('{ id: r, file: a.csv }')).recipe).toBeUndefined();
    expect((await wishOf('{ id: r, file: a.tsv, badRows: fail }')).recipe).toBeUndefined();
    expect((await wishOf('{ id: r, file: a.pdf }')).recipe).toBeUndefined();
    expect((await wishOf('{ id: r, link: "https://example.org/a.zip" }')).recipe).toBeUndefined();
    for (const name of ['a.xlsx', 'a.zip', 'a.csv.gz', 'a.ndjson', 'a.jsonl', 'a.json', 'A.XLSX']) {
      expect((await wishOf(`{ id: r, file: ${name} }`)).recipe, name).toMatchObject({ asked: false, steps: [] });
      expect((await wishOf(`{ id: r, file: ${name}, import: never }`)).recipe, name).toBeUndefined();
    }
    expect((await wishOf('{ id: r, file: a.csv, badRows: skip }')).recipe).toMatchObject({
      asked: true,
      badRows: 'skip',
      maxBadRows: { share: 0.005 },
    });
    expect((await wishOf('{ id: r, url: "https://example.org/a.xlsx", sheet: 2 }')).recipe).toMatchObject({ sheet: 2 });
  });

  it('has a fingerprint that tells steps, their order, and the bytes of what they name', async () => {
    const dir = tempDir();
    const fingerprint = async (resource: string, defaults?: string): Promise<string> =>
      (await wishOf(resource, defaults, dir)).recipe?.fingerprint ?? '';
    const select = '{ select: [a] }';
    const rename = '{ rename: { a: b } }';
    const one = await fingerprint(`{ id: r, file: a.csv, table: [${select}, ${rename}] }`);
    expect(await fingerprint(`{ id: other, file: b.csv, title: X, table: [${select}, ${rename}] }`)).toBe(one);
    expect(await fingerprint('{ id: r, file: a.csv }', `{ table: [${select}, ${rename}] }`)).toBe(one);
    const others = [
      await fingerprint(`{ id: r, file: a.csv, table: [${rename}, ${select}] }`),
      await fingerprint(`{ id: r, file: a.csv, table: [${select}, ${rename}], badRows: skip }`),
      await fingerprint(`{ id: r, file: a.csv, table: [${select}, ${rename}], sheet: 1 }`),
    ];
    for (const [name, content] of [
      ['step.ts', 'export const a = 1;'],
      ['schema.json', '{"fields":[{"name":"a"}]}'],
    ] as const) {
      const use = name === 'step.ts' ? 'table: [{ transform: ./step.ts }]' : 'schema: schema.json';
      writeFileSync(join(dir, name), content);
      others.push(await fingerprint(`{ id: r, file: a.csv, ${use} }`));
      writeFileSync(join(dir, name), `${content} `.replace('"a"', '"b"'));
      others.push(await fingerprint(`{ id: r, file: a.csv, ${use} }`));
    }
    expect(new Set([one, ...others]).size).toBe(others.length + 1);
  });

  it('reports the fault of a schema or module that cannot be read to its resource alone', async () => {
    expect((await wishOf('{ id: r, file: a.csv, schema: gone.json }')).recipe?.fault).toContain(
      'gone.json cannot be read',
    );
    expect((await wishOf('{ id: r, file: a.csv, table: [{ transform: gone.ts }] }')).recipe?.fault).toContain(
      'gone.ts cannot be read',
    );
    const dir = tempDir();
    writeFileSync(join(dir, 's.json'), '{"fields":[{"type":"string"}]}');
    expect((await wishOf('{ id: r, file: a.csv, schema: s.json }', '{}', dir)).recipe?.fault).toContain(
      's.json is not a Table Schema: fields.0.name',
    );
  });

  it('gives what is sent the name of a CSV', () => {
    expect(['a.csv', 'a.tsv', 'a.csv.gz', 'a.xlsx', 'a.zip', 'a.b.ndjson', 'a', '.zip'].map(preparedName)).toEqual([
      'a.csv',
      'a.csv',
      'a.csv',
      'a.csv',
      'a.csv',
      'a.b.csv',
      'a.csv',
      'table.csv',
    ]);
  });
});

describe('faults of a manifest about tables', () => {
  it.each([
    ['table: [{ selct: [a] }]', 'selct: unknown key; did you mean `select`?'],
    ['table: [{ select: [a], drop: [b] }]', 'a step has exactly one key'],
    ['table: [{}]', 'a step has exactly one key'],
    ['table: { select: [a] }', 'must be a list'],
    ['table: [{ select: [] }]', 'must have at least 1 entry'],
    ['table: [{ select: [a] }, { skipRows: 2 }]', 'come before all other steps'],
    ['table: [{ skipRows: 1 }, { skipRows: 2 }]', 'each once at most'],
    ['table: [{ encoding: utf8 }]', '`utf8` is not allowed (did you mean `utf-8`?)'],
    ['table: [{ filter: "a >" }]', 'the expression expected a column'],
    ['table: [{ computed: { x: "foo(1)" } }]', 'unknown function `foo`'],
    ['table: [{ cast: { a: dat } }]', 'must be one of text, integer, number'],
    ['table: [{ cast: { a: { to: date, from: "MM/YYYY" } } }]', 'must name year'],
    ['table: [{ cast: { a: { to: number, group: ".", decimal: "." } } }]', '`decimal` and `group` must differ'],
    ['table: [{ replace: { with: x } }]', 'needs exactly one of `cell`, `text`, `pattern`'],
    ['table: [{ replace: { pattern: "(", with: x } }]', 'is not a valid regular expression'],
    ['table: [{ fill: { in: [a] } }]', 'needs either `with` or `from: above`'],
    ['badRows: drop', '`drop` is not allowed'],
    ['maxBadRows: 1.5', 'must be a share such as `0.5%`'],
    ['maxBadRows: 200%', 'must be a share such as `0.5%`'],
    ['sheet: [1]', 'must be the name of a sheet'],
    ['sheet: 0', 'must be more than 0'],
    ['schema: { fields: [] }', 'must have at least 1 entry'],
    ['schema: { fields: [{ name: a, type: geopoint }] }', '`geopoint` is not allowed; allowed: string'],
    ['schema: { fields: [{ name: a, type: date, format: any }] }', 'would be a guess'],
    ['schema: { fields: [{ name: a, constraints: { pattern: "(" } }] }', 'is not a valid regular expression'],
  ])('%s', async (text, message) => {
    const problems = await problemsOf(load(`{ id: r, file: a.csv, ${text} }`));
    expect(problems.join('\n')).toContain(message);
  });
});

describe('files beside dropped data', () => {
  it('may say what is done to a table, but run nothing and read nothing', async () => {
    const dir = tempDir();
    const details = (text: string) => loadResourceDetails(writeText(dir, 'r.yaml', text), {});
    expect(await details('table: [{ skipRows: 1 }]\nbadRows: skip\nschema: { fields: [{ name: a }] }\n')).toMatchObject(
      { table: [{ skipRows: 1 }], badRows: 'skip' },
    );
    expect((await problemsOf(details('table: [{ transform: ./x.ts }]'))).join()).toContain('`transform` runs code');
    expect((await problemsOf(details('table: [{ split: { by: a, values: [b] } }]'))).join()).toContain(
      '`split` creates several',
    );
    expect((await problemsOf(details('schema: /etc/passwd'))).join()).toContain('must be a mapping');
  });

  it('have the name without both endings of a gzipped table', () => {
    expect(
      ['d/x.csv.gz', 'd/x.tar.gz', 'd/x.2026.csv', 'd/.gz'].map((path) => droppedNames(path, []).resource),
    ).toEqual(['x', 'x.tar', 'x.2026', '.gz']);
  });
});

describe('a split', () => {
  it('makes a resource of each value, each with its own identity', async () => {
    const table = 'table: [{ drop: [x] }, { split: { by: region, values: [North, "South & East", "!"] } }]';
    const wishes = await wishesOf(`{ id: r, title: Counts, file: a.csv, renamedFrom: old, ${table} }`);
    expect(wishes.map(({ key, title }) => [key, title])).toEqual([
      ['m/d/r-north', 'Counts: North'],
      ['m/d/r-south-east', 'Counts: South & East'],
      [expect.stringMatching(/^m\/d\/r-[0-9a-f]{8}$/), 'Counts: !'],
    ]);
    expect(new Set(wishes.map(({ uuid }) => uuid)).size).toBe(3);
    const former = await wishesOf(`{ id: old, file: a.csv, ${table} }`);
    expect(wishes.map(({ uuid }) => uuid)).toEqual(former.map(({ uuid }) => uuid));
    expect(wishes[1]?.recipe?.steps).toEqual([
      { drop: ['x'] },
      { split: { by: 'region', values: ['North', 'South & East', '!'], only: 'South & East' } },
    ]);
  });

  it('takes titles by value, and ids that are free', async () => {
    const wishes = await wishesOf(
      '{ id: r, file: a.csv, table: [{ split: { by: c, values: { a: First, A: Second } } }] }\n      - { id: r-a, file: b.csv }',
    );
    expect(wishes.map(({ key, title }) => [key, title])).toEqual([
      [expect.stringMatching(/^m\/d\/r-a-[0-9a-f]{8}$/), 'First'],
      [expect.stringMatching(/^m\/d\/r-a-[0-9a-f]{8}$/), 'Second'],
      ['m/d/r-a', 'r-a'],
    ]);
    expect(new Set(wishes.map(({ key }) => key)).size).toBe(3);
  });
});

const guardsOf = async (head: string, resource = ''): Promise<unknown> => {
  const text = `name: m\n${head}\ndatasets:\n  - { id: d, title: D, resources: [{ id: r, file: r.csv${resource} }] }\n`;
  const [dataset] = await gatherManifest(await loadManifest(writeText(tempDir(), 'm.yaml', text)));
  return dataset?.resources[0]?.guard;
};

describe('a guard of tables', () => {
  it('is none unless it is written', async () => {
    expect(await guardsOf('')).toBeUndefined();
    expect(await guardsOf('guard: { maxRemovals: 5% }')).toBeUndefined();
    expect(await guardsOf('guard: { columns: any }')).toBeUndefined();
  });

  it('is of the manifest, its defaults and the resource, key by key', async () => {
    const head =
      'guard: { min: 3, rows: 20%, same: 30d }\ndefaults: { resource: { guard: { rows: 30%, nulls: 50% } } }';
    expect(await guardsOf(head)).toEqual({ rows: 0.3, nulls: 0.5, sameMs: 30 * 86_400_000 });
    expect(await guardsOf(head, ', guard: { rows: 40%, columns: keep }')).toEqual({
      rows: 0.4,
      columns: 'keep',
      nulls: 0.5,
      sameMs: 30 * 86_400_000,
    });
    expect(await guardsOf('guard: { columns: keep }', ', guard: { columns: any }')).toBeUndefined();
  });

  it('is refined by the file beside a dropped table', async () => {
    const path = writeText(tempDir(), 'june.yaml', 'guard: { rows: 60% }\n');
    const { guard } = await loadResourceDetails(path, { guard: { rows: '20%', columns: 'grow' } });
    expect(guard).toEqual({ rows: '60%', columns: 'grow' });
  });

  it('is refused where a limit makes no sense', async () => {
    const wrong = guardsOf('guard: { rows: 20, columns: same, same: monthly, empty: 5% }');
    expect(await problemsOf(wrong)).toEqual([
      '2:16 guard.rows: must be a share such as `10%`',
      '2:29 guard.columns: `same` is not allowed; allowed: keep, grow, any',
      '2:41 guard.same: must be a duration such as `500ms`, `2s`, `15m`, `6h` or `7d`',
      '2:50 guard.empty: unknown key; known here: maxRemovals, min, maxUpdates, rows, columns, nulls, maxChangedRows, same',
    ]);
  });
});
