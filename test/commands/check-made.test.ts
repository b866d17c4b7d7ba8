// `sluice check` of files that become tables: by themselves, and by the steps of a manifest.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checkCommand } from '../../src/commands/check.ts';
import { commandIo } from '../support/command-io.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeText } from '../support/yaml-file.ts';
import { workbookOf } from '../tables/transform/support/workbook.ts';

const check = async (dir: string, paths: string[], json = false) => {
  const { io, out } = commandIo(dir);
  const code = await checkCommand(paths, json ? { json } : {}, io);
  return { code, out: out(), lines: out().trimEnd().split('\n') };
};

describe('checking files that become tables', () => {
  it('looks at the table that is made, and tells how', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'a.csv.gz'), gzipSync('id;name\n1;x\n'));
    writeFileSync(
      join(dir, 'b.xlsx'),
      await workbookOf([
        ['id', 'id'],
        [1, 2],
      ]),
    );
    const { code, lines } = await check(dir, ['a.csv.gz', 'b.xlsx']);
    expect(code).toBe(3);
    expect(lines.slice(0, 3)).toEqual([
      'a.csv.gz: converted to CSV from 1 row: sound, 1 row, 2 columns, separated by commas',
      '  read as UTF-8 text, separated by ";"',
      '  columns: id (integer), name (text)',
    ]);
    expect(lines[3]).toMatch(/^b\.xlsx:1:2: the header cells .* \[table-header\]$/);
  });

  it('says of a workbook with several tables that it has no rows on a portal, and what to do', async () => {
    const dir = tempDir();
    const book = await workbookOf([['id'], [1]], { name: 'May', more: { June: [['id'], [2]] } });
    writeFileSync(join(dir, 'b.xlsx'), book);
    const { code, lines } = await check(dir, ['b.xlsx']);
    expect(code).toBe(0);
    const several = 'b.xlsx has several sheets with values: "May", "June"';
    expect(lines).toEqual([
      `b.xlsx: ${several}: sent unchanged`,
      `  warning: ${several}; it is published as a file, without rows: save each as a file of its own, or name one: \`sheet: "May"\`, or publish the file as it is: \`import: never\``,
    ]);
  });

  it('takes JSON that is no table for a catalogue, whatever the case of its ending', async () => {
    const dir = tempDir();
    for (const name of ['a.json', 'B.JSON']) writeText(dir, name, '{"title": "x"}');
    const { code, out } = await check(dir, ['a.json', 'B.JSON']);
    expect(code).toBe(3);
    expect(out.match(/^\S+(?=:\d+:\d+: it has no list `dataset`)/gm)).toEqual(['a.json', 'B.JSON']);
  });

  it('takes `--skip-rows` for a workbook, too', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'b.xlsx'), await workbookOf([['Visitors'], ['id', 'n'], [1, 2]]));
    expect((await check(dir, ['b.xlsx'])).out).toContain('`skipRows: 1`');
    const { io, out } = commandIo(dir);
    expect(await checkCommand(['b.xlsx'], { skipRows: '1' }, io)).toBe(0);
    expect(out()).toContain('converted to CSV from 1 row: sound');
  });

  it('follows the steps of a manifest, for each way in which a file is published', async () => {
    const dir = tempDir();
    writeText(dir, 'data.csv', 'Report\nid;n\n1;2\n2;x\n');
    const steps = 'table: [{ skipRows: 1 }, { cast: { n: integer } }]';
    writeText(
      dir,
      'm.yaml',
      `name: city
datasets:
  - id: d
    title: D
    resources:
      - { id: strict, file: data.csv, ${steps} }
      - { id: lenient, file: data.csv, ${steps}, badRows: skip, maxBadRows: 1 }
      - { id: again, file: data.csv, ${steps}, badRows: skip, maxBadRows: 1 }
`,
    );
    const { code, out, lines } = await check(dir, ['m.yaml']);
    expect(code).toBe(3);
    expect(out).toContain('data.csv:4: 1 bad row of 2: nothing is published');
    expect(lines.filter((line) => line.startsWith('data.csv: converted to CSV'))).toEqual([
      'data.csv: converted to CSV from 2 rows: sound, 1 row, 2 columns, separated by commas',
    ]);
    expect(out).toContain('1 bad row left out: line 4, column 2 ("n"): is not a valid whole number');
    const { files } = JSON.parse((await check(dir, ['m.yaml'], true)).out);
    expect(files[0].sources).toEqual([1, 2, 3].map(() => join(dir, 'data.csv')));
  });

  it('leaves what holds no table alone', async () => {
    const dir = tempDir();
    writeText(dir, 'shapes.json', '{"type":"FeatureCollection"}');
    writeText(dir, 'm.yaml', 'name: m\ndatasets: [{ id: d, title: D, resources: [{ id: r, file: shapes.json }] }]\n');
    expect(await check(dir, ['m.yaml'])).toMatchObject({
      code: 0,
      lines: [
        expect.anything(),
        'shapes.json: shapes.json is not an array of rows: sent unchanged',
        '2 files, all sound',
      ],
    });
  });
});
