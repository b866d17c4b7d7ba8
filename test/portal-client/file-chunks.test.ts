// The chunks of a file that is sent: what its reader is reported when the system fails to read it.
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileChunks } from '../../src/portal-client/files.ts';
import { tempDir } from '../support/temp-dir.ts';

const faults = {
  changed: () => new Error('changed'),
  unreadable: (cause: unknown) => new Error('unreadable', { cause }),
};

it('gives all bytes in order', async () => {
  const path = join(tempDir(), 'large.csv');
  const content = Buffer.alloc(700_000, 'abcdefghi\n');
  await writeFile(path, content);
  const chunks: Buffer[] = [];
  for await (const chunk of fileChunks(path, await stat(path, { bigint: true }), faults))
    chunks.push(Buffer.from(chunk));
  expect(chunks.length).toBe(3);
  expect(Buffer.concat(chunks).equals(content)).toBe(true);
});

// The memory of a process begins with pages that nobody may read: the system answers with an I/O error.
it.runIf(process.platform === 'linux')('reports a failure of the system as that', async () => {
  const facts = { ...(await stat('/proc/self/mem', { bigint: true })), size: 1000n };
  const read = fileChunks('/proc/self/mem', facts as Awaited<ReturnType<typeof stat>> & typeof facts, faults);
  await expect(read.next()).rejects.toMatchObject({ message: 'unreadable', cause: { code: 'EIO' } });
});
