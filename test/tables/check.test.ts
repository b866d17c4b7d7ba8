import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkTable } from '../../src/tables/check.ts';
import { runNode } from '../support/run-node.ts';
import { fileOf } from '../support/table-file.ts';
import { tempDir } from '../support/temp-dir.ts';

const dir = tempDir();

describe('a sound table is reported', () => {
  it('with rows, columns, delimiter, size and sha256', async () => {
    const content = '\ufeffName;Größe\r\nAnn;1,5\r\nBob;2\r\n';
    expect(await checkTable(fileOf(content))).toEqual({
      rows: 2,
      columns: ['Name', 'Größe'],
      contents: [
        { name: 'Name', kind: 'text', empty: 0 },
        { name: 'Größe', kind: 'mixed', empty: 0 },
      ],
      importer: { refuses: [], changes: [] },
      delimiter: ';',
      bom: true,
      bytes: Buffer.byteLength(content),
      sha256: createHash('sha256').update(content).digest('hex'),
    });
  });

  it('with no rows where there is only a header', async () => {
    expect(await checkTable(fileOf('a,b'))).toMatchObject({ rows: 0, columns: ['a', 'b'] });
  });

  it('by a given delimiter instead of the detected one', async () => {
    expect(await checkTable(fileOf('a;b,c\n1;2,3\n'), { delimiter: ',' })).toMatchObject({ columns: ['a;b', 'c'] });
  });

  it('when it is larger than one chunk, every byte and row counted', async () => {
    const path = fileOf('id,text\n');
    const block = Array.from({ length: 5000 }, (_, i) => `${i},"ünïcode ${i}, quoted\r\nline"\r\n`).join('');
    for (let n = 0; n < 4; n++) appendFileSync(path, block);
    const report = await checkTable(path);
    expect(report).toMatchObject({ rows: 20_000, bytes: 8 + 4 * Buffer.byteLength(block) });
    const hash = createHash('sha256').update('id,text\n');
    for (let n = 0; n < 4; n++) hash.update(block);
    expect(report.sha256).toBe(hash.digest('hex'));
  });
});

describe('a faulty table is refused', () => {
  it.each([
    ['an empty header cell at the end of the header', 'a,b,\n1,2,\n', 'table-header', 1, 3],
    ['a header cell of spaces', 'a,  ,c\n1,2,3\n', 'table-header', 1, 2],
    ['two columns of one name', 'Name,Age,Name\n1,2,3\n', 'table-header', 1, 3],
    ['two columns that a portal cannot tell apart', 'First Name,x,first_name\n1,2,3\n', 'table-header', 1, 3],
    ['a name without any character that portals keep', 'name,日本\n1,2\n', 'table-header', 1, 2],
    ['a faulty header before a faulty row', 'a,\n1\n', 'table-header', 1, 2],
    ['a ragged row far down', `a,b\n${'1,2\n'.repeat(200_000)}3\n`, 'table-ragged', 200_002, undefined],
  ])('for %s', async (_, content, code, line, column) => {
    await expect(checkTable(fileOf(content))).rejects.toMatchObject({ name: 'TableFaultError', code, line, column });
  });

  it('naming both columns of a duplicate', async () => {
    await expect(checkTable(fileOf('E-Mail,x,e mail,EMAIL\n1,2,3,4\n'))).rejects.toThrow(
      'the header cells of columns 1 ("E-Mail") and 4 ("EMAIL") give the same column name on a portal: email',
    );
  });

  it('with a hint to the delimiter at the end of the lines', async () => {
    const error: unknown = await checkTable(fileOf('a;b;\n1;2;\n')).catch((e: unknown) => e);
    expect(error).toMatchObject({ hint: 'give the column a name, or remove the semicolon at the end of every line' });
  });

  it('for a row over the limit', async () => {
    const path = fileOf(`a,b\n1,${'x'.repeat(5000)}\n`);
    await expect(checkTable(path, { rowBytes: 4096 })).rejects.toMatchObject({ code: 'table-oversize', line: 2 });
  });
});

describe('a check that cannot be made', () => {
  it('says that the file is missing', async () => {
    await expect(checkTable(join(dir, 'none.csv'))).rejects.toMatchObject({ code: 'source-missing' });
  });

  it('says that a folder is no file', async () => {
    await expect(checkTable(dir)).rejects.toMatchObject({ code: 'source-missing' });
  });

  it.each([1, 5_000])(
    'of %i rows ends with the reason of an aborted signal, and the next check works',
    async (rows) => {
      const path = fileOf(`a,b\n${'1,2\n'.repeat(rows)}`);
      const reason = new Error('stopping');
      await expect(checkTable(path, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      for (let round = 0; round < 20; round++) {
        const controller = new AbortController();
        const check = checkTable(path, { signal: controller.signal });
        controller.abort(reason);
        await expect(check).rejects.toBe(reason);
      }
      expect(await checkTable(path)).toMatchObject({ rows });
    },
  );

  it('takes a thread where it is not small, which does not keep the process alive', async () => {
    const script = fileURLToPath(new URL('./check-and-end.ts', import.meta.url));
    expect(await runNode(script, { args: [fileOf('a\n1\n'), '0'] })).toBe('ended');
    expect(await runNode(script, { args: [fileOf(`a\n${'12345\n'.repeat(5_000)}`), '1'] })).toBe('ended');
  });
});

it('a sound table tells what importers of portals do not take and what they change, line by line', async () => {
  const { importer } = await checkTable(fileOf('id,a\n1, x\n2,"say \\""hi\\"""\n3,""\n4,""\n'));
  expect(importer.refuses).toEqual([
    expect.stringMatching(/^line 3, column 2, and 1 more: a backslash stands before a quote/),
  ]);
  expect(importer.changes).toEqual([
    expect.stringMatching(/^line 2, column 2: .*removes spaces/),
    expect.stringMatching(/^line 4, column 2, and 1 more: .*NULL/),
  ]);
});
