import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { encodings, legacyEncodings } from '../../../src/model/recipe/encodings.ts';
import { recipeOf } from '../../../src/sources/gather/dataset-wish.ts';
import { encoderOf, encodingNamed, encodingTitle } from '../../../src/tables/scan/encodings.ts';
import { prepareTable } from '../../../src/tables/transform/prepare.ts';
import { fileOf } from '../../support/table-file.ts';
import { tempDir } from '../../support/temp-dir.ts';

const folder = tempDir();

describe('`encoding` and `skipRows` beside a table', () => {
  it('decide how it is read, also in an encoding of DOS', async () => {
    for (const encoding of ['cp1250', 'cp852'] as const) {
      const path = fileOf(encoderOf(encoding)('Seznam\n\nměsto;počet\nPlzeň;5\n'));
      const recipe = recipeOf({ encoding, skipRows: 2 }, { kind: 'file', path, name: 'a.csv' }, 'auto');
      if (recipe === null) throw new Error('no recipe');
      const limits = { label: 'a', manifest: 'city', rejects: null, tableBytes: 1e6, rowBytes: 1e6 };
      const made = await prepareTable({ path, name: 'a.csv', recipe, folder, ...limits });
      expect(made.kind === 'table' && readFileSync(made.path, 'utf8')).toBe('město,počet\nPlzeň,5\n');
    }
  });

  it('give way to steps of the same name, and leave other files alone', () => {
    const source = { kind: 'file', path: '/a', name: 'a.csv' } as const;
    const recipe = recipeOf({ encoding: 'windows-1250', table: [{ encoding: 'windows-1251' }] }, source, 'auto');
    expect(recipe?.steps).toEqual([{ encoding: 'windows-1251' }]);
    expect(recipeOf({ encoding: 'windows-1250', skipRows: 2 }, { ...source, name: 'a.pdf' }, 'auto')).toBeNull();
  });

  it('take every encoding that `check` names as a candidate', () => {
    const known = [...legacyEncodings, 'iso-8859-1', 'iso-2022-jp', 'utf-16le', 'utf-16be'];
    const named = known.map((encoding) => encodingTitle(encoding).toLowerCase());
    expect(named.filter((name) => !encodings.some((one) => one === name))).toEqual([]);
    expect(encodings.filter((name) => encodingNamed(name) === null)).toEqual([]);
  });
});
