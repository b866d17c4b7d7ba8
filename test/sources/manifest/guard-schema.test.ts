// The guard of tables as manifests and the files beside dropped data write it, and as it is wanted.
import { describe, expect, it } from 'vitest';
import { gatherManifest } from '../../../src/sources/gather/dataset-wish.ts';
import { loadManifest } from '../../../src/sources/manifest/load.ts';
import { loadResourceDetails } from '../../../src/sources/manifest/sidecars.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { problemsOf, writeText } from '../../support/yaml-file.ts';

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
    const { details } = await loadResourceDetails(path, { guard: { rows: '20%', columns: 'grow' } });
    expect(details.guard).toEqual({ rows: '60%', columns: 'grow' });
  });

  it('is refused where a limit makes no sense', async () => {
    const wrong = guardsOf('guard: { rows: 20, columns: same, same: monthly, empty: 5% }');
    expect(await problemsOf(wrong)).toEqual([
      '2:16 guard.rows: must be a share such as `10%`',
      '2:29 guard.columns: `same` is not allowed; allowed: keep, grow, any',
      '2:41 guard.same: must be a duration such as `500ms`, `2s`, `15m`, `6h` or `7d`',
      '2:50 guard.empty: unknown key; known here: maxRemovals, min, maxUpdates, rows, columns, nulls, same',
    ]);
  });
});
