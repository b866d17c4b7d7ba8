import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { uuidOfKey } from '../../../src/model/key.ts';
import { gatherDrop } from '../../../src/sources/drop/gather-drop.ts';
import type { Claim } from '../../../src/sources/drop/spool.ts';
import { type DropManifest, defaultRules } from '../../../src/sources/manifest/schema.ts';
import { tempDir } from '../../support/temp-dir.ts';

const manifestOf = (folder: string, defaults: DropManifest['defaults'] = { dataset: {}, resource: {} }) =>
  ({
    path: join(folder, '../inbox.yaml'),
    name: 'inbox',
    portal: 'local',
    ...defaultRules,
    defaults,
    drop: { folder, files: ['**/*.csv'], settleMs: null },
  }) satisfies DropManifest;

const fingerprint = { bytes: 1, sha256: '', mtimeNs: '0', ctimeNs: '0', ino: '1', hashedAt: 0 };

const claimOf = (dropped: string, claimedAt = 1): Claim => {
  const [dataset = '', resource = dataset] = dropped
    .replace(/\.csv$/, '')
    .toLowerCase()
    .replaceAll(' ', '-')
    .split('/');
  const name = dropped.split('/').at(-1) ?? '';
  const id = `${claimedAt}-${resource}`;
  return { id, dataset, resource, name, path: `/spool/${id}/file/${dropped}`, dropped, claimedAt, fingerprint };
};

const write = (folder: string, path: string, text: string): void => {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
};

describe('gatherDrop', () => {
  it('makes a wish of each dropped dataset, titled by its names, with the claimed file as source', async () => {
    const { wishes } = await gatherDrop(manifestOf(tempDir()), [claimOf('city-budget/spending_by_ward.csv')]);
    expect(wishes).toMatchObject([
      {
        key: 'inbox/city-budget',
        uuid: uuidOfKey('inbox/city-budget'),
        title: 'City budget',
        published: true,
        resources: [
          {
            key: 'inbox/city-budget/spending_by_ward',
            datasetKey: 'inbox/city-budget',
            title: 'Spending by ward',
            import: 'auto',
            source: {
              kind: 'file',
              name: 'spending_by_ward.csv',
              claim: '1-spending_by_ward',
              path: '/spool/1-spending_by_ward/file/city-budget/spending_by_ward.csv',
            },
          },
        ],
      },
    ]);
  });

  it('keeps the writing of a name that people wrote as a title', async () => {
    const { wishes } = await gatherDrop(manifestOf(tempDir()), [claimOf('Budget of São Paulo 2026/Q1.csv')]);
    expect(wishes[0]?.title).toBe('Budget of São Paulo 2026');
    expect(wishes[0]?.resources[0]?.title).toBe('Q1');
  });

  it('takes titles and fields from the sidecars, over the defaults of the manifest', async () => {
    const folder = tempDir();
    write(folder, 'budget/dataset.yaml', 'title: The budget\ntags: [money]\n');
    write(folder, 'budget/spending.yaml', 'title: All spending\nimport: never\n');
    const defaults: DropManifest['defaults'] = { dataset: { license: 'cc-by' }, resource: { import: 'auto' } };
    const { wishes } = await gatherDrop(manifestOf(folder, defaults), [claimOf('budget/spending.csv')]);
    expect(wishes[0]).toMatchObject({ title: 'The budget', resources: [{ title: 'All spending', import: 'never' }] });
    expect(wishes[0]?.fields).toMatchObject({ field_license: { und: [{ value: 'cc-by' }] }, field_tags: {} });
  });

  it('quarantines a file whose sidecar wants to link nodes, unless the manifest trusts the folder', async () => {
    const folder = tempDir();
    write(folder, 'budget/dataset.yaml', 'fields: { field_resources: { und: [{ target_id: "7" }] } }\n');
    const manifest = manifestOf(folder);
    const { wishes, refused } = await gatherDrop(manifest, [claimOf('budget/spending.csv')]);
    expect(wishes).toEqual([]);
    expect(refused[0]?.reason.message).toContain(
      'budget/dataset.yaml:1:11: fields.field_resources: is not a plain text field',
    );
    const trusting = { ...manifest, drop: { ...manifest.drop, trusted: true } };
    const trusted = await gatherDrop(trusting, [claimOf('budget/spending.csv')]);
    expect(trusted.wishes[0]?.fields).toMatchObject({ field_resources: { und: [{ target_id: '7' }] } });
  });

  it('finds the sidecars of a root file beside it and in the folder of its name', async () => {
    const folder = tempDir();
    write(folder, 'parks.yaml', 'title: List of parks\n');
    write(folder, 'parks/dataset.yaml', 'title: Parks and gardens\n');
    const { wishes } = await gatherDrop(manifestOf(folder), [claimOf('parks.csv')]);
    expect(wishes[0]).toMatchObject({ title: 'Parks and gardens', resources: [{ title: 'List of parks' }] });
  });

  it('changes the fingerprint of a wish when its sidecar changes', async () => {
    const folder = tempDir();
    const claims = [claimOf('budget/a.csv')];
    const before = await gatherDrop(manifestOf(folder), claims);
    write(folder, 'budget/dataset.yaml', 'description: New words\n');
    const after = await gatherDrop(manifestOf(folder), claims);
    expect(after.wishes[0]?.metadataFingerprint).not.toBe(before.wishes[0]?.metadataFingerprint);
    expect(after.wishes[0]?.resources).toEqual(before.wishes[0]?.resources);
  });

  it('lets the newest claim of a resource win and names the older ones, whatever their order', async () => {
    const [v1, v2, v3] = [claimOf('b/a.csv', 1), claimOf('b/a.csv', 2), claimOf('b/a.csv', 3)];
    const { wishes, superseded, refused } = await gatherDrop(manifestOf(tempDir()), [v2, v3, v1]);
    expect(wishes[0]?.resources.map(({ source }) => source)).toMatchObject([{ claim: v3.id }]);
    expect(superseded).toEqual([v1, v2]);
    expect(refused).toEqual([]);
  });

  it('puts the resources of one dataset into one wish, and sorts by key', async () => {
    const claims = ['z/b.csv', 'a/y.csv', 'z/a.csv'].map((dropped, at) => claimOf(dropped, at));
    const { wishes } = await gatherDrop(manifestOf(tempDir()), claims);
    expect(wishes.map((wish) => wish.resources.map(({ key }) => key))).toEqual([
      ['inbox/a/y'],
      ['inbox/z/a', 'inbox/z/b'],
    ]);
  });

  it('refuses all files of a dataset whose dataset.yaml is faulty, and only those', async () => {
    const folder = tempDir();
    write(folder, 'bad/dataset.yaml', 'title: Fine\ntag: [money]\n');
    const claims = [claimOf('bad/a.csv', 1), claimOf('bad/b.csv', 2), claimOf('good/a.csv', 3)];
    const { wishes, refused } = await gatherDrop(manifestOf(folder), claims);
    expect(wishes.map(({ key }) => key)).toEqual(['inbox/good']);
    expect(refused.map(({ claim }) => claim.dropped)).toEqual(['bad/a.csv', 'bad/b.csv']);
    expect(refused[0]?.reason.code).toBe('manifest');
    expect(refused[0]?.reason.message).toContain(`${join(folder, 'bad/dataset.yaml')}:2:1: tag: unknown key`);
  });

  it('refuses the one file whose own sidecar is faulty', async () => {
    const folder = tempDir();
    write(folder, 'budget/a.yaml', 'import: sometimes\n');
    const { wishes, refused } = await gatherDrop(manifestOf(folder), [
      claimOf('budget/a.csv'),
      claimOf('budget/b.csv'),
    ]);
    expect(wishes.map((wish) => wish.resources.map(({ key }) => key))).toEqual([['inbox/budget/b']]);
    expect(refused.map(({ claim }) => claim.dropped)).toEqual(['budget/a.csv']);
  });

  it('refuses sidecars that are links, for they could show any file of the machine', async () => {
    const folder = tempDir();
    write(folder, 'elsewhere.txt', 'title: secret\n');
    mkdirSync(join(folder, 'a'));
    symlinkSync(join(folder, 'elsewhere.txt'), join(folder, 'a/dataset.yaml'));
    const { wishes, refused } = await gatherDrop(manifestOf(folder), [claimOf('a/x.csv')]);
    expect(wishes).toEqual([]);
    expect(refused[0]?.reason.code).toBe('source-refused');
  });

  it('puts every claim into exactly one place', async () => {
    const folder = tempDir();
    write(folder, 'bad/dataset.yaml', '- no mapping\n');
    const claims = ['bad/a.csv', 'bad/a.csv', 'good/a.csv', 'good/a.csv', 'x.csv'].map((path, at) => claimOf(path, at));
    const { wishes, superseded, refused } = await gatherDrop(manifestOf(folder), claims);
    const wished = wishes.flatMap((wish) =>
      wish.resources.map(({ source }) => (source.kind === 'file' ? source.claim : '')),
    );
    const all = [...wished, ...superseded.map(({ id }) => id), ...refused.map(({ claim }) => claim.id)];
    expect(all.sort()).toEqual(claims.map(({ id }) => id).sort());
  });

  it('wishes for nothing when nothing was dropped', async () => {
    expect(await gatherDrop(manifestOf(tempDir()), [])).toEqual({ wishes: [], superseded: [], refused: [] });
  });
});
