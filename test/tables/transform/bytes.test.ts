// Text that is not UTF-8, and where it ends to be that.
import { expect, it } from 'vitest';
import { made } from './support/made.ts';

it('names the line of the first byte that is not UTF-8, also below a replacement character that was sent', async () => {
  const text = Buffer.concat([Buffer.from('\ufeffa,\ufffd\nb,1\n'), Buffer.from([0x63, 0x2c, 0xff, 0x0a])]);
  const fault = { code: 'table-encoding', line: 3 };
  await expect(made('table.csv', text, { table: [{ header: { trim: true } }] })).rejects.toMatchObject(fault);
  const json = Buffer.concat([Buffer.from('{"a":"ü"}\n{"a":"b"}\n{"a":"'), Buffer.from([0xff, 0x22, 0x7d, 0x0a])]);
  await expect(made('table.ndjson', json)).rejects.toMatchObject(fault);
});

it('says the same of text that is not UTF-8 where a byte order mark claims that it is', async () => {
  const json = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0x22, 0x7d, 0x0a])]);
  const marked = Buffer.concat([Buffer.from('\ufeff'), json]);
  const hint = expect.stringContaining('save the file as UTF-8');
  for (const content of [json, marked]) await expect(made('table.ndjson', content)).rejects.toMatchObject({ hint });
});
