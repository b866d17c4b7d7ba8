// The bytes of text in UTF-8, and where they end to be that.
import { expect, it } from 'vitest';
import { utf8Bytes } from '../../../src/tables/transform/input/bytes.ts';

it('names the line of the first byte that is not UTF-8, also below a replacement character that was sent', async () => {
  const read = async (chunks: Buffer[]): Promise<void> => {
    for await (const _ of utf8Bytes(async function* () {
      yield* chunks;
    }, null));
  };
  const text = Buffer.concat([Buffer.from('\ufeffa,\ufffd\nb,1\n'), Buffer.from([0x63, 0x2c, 0xff, 0x0a])]);
  const fault = { code: 'table-encoding', line: 3 };
  await expect(read([text])).rejects.toMatchObject(fault);
  await expect(read([text.subarray(0, 7), text.subarray(7, 15), text.subarray(15)])).rejects.toMatchObject(fault);
});
