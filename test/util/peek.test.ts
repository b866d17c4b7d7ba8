// The first bytes of a stream, and what becomes of the stream when only these were wanted.
import { expect, it } from 'vitest';
import { peeked } from '../../src/util/peek.ts';

const open: string[] = [];

async function* source(): AsyncGenerator<Uint8Array> {
  open.push('file');
  try {
    for (const text of ['ab', 'cd', 'ef']) yield Buffer.from(text);
  } finally {
    open.pop();
  }
}

it('all bytes come once, with as many as are asked for at the start', async () => {
  const { start, all } = await peeked(source(), 3);
  const chunks: Uint8Array[] = [];
  for await (const chunk of all) chunks.push(chunk);
  expect([start.toString(), Buffer.concat(chunks).toString(), open]).toEqual(['abcd', 'abcdef', []]);
});

it.each([1, 2, 3])('who gives up at chunk %i closes what they came from', async (last) => {
  const { all } = await peeked(source(), 3);
  let read = 0;
  for await (const _chunk of all) {
    read += 1;
    if (read === last) break;
  }
  expect([read, open]).toEqual([last, []]);
});
