// A file as chunks to send, in memory that is used again.
import type { BigIntStats } from 'node:fs';
import { open } from 'node:fs/promises';

const chunkBytes = 256 * 1024;

/** What is thrown when the file is not the one it was, and when the system fails to read it. */
export interface ChunkFaults {
  changed: () => Error;
  unreadable: (cause: unknown) => Error;
}

/**
 * The bytes of a file, in chunks whose memory is used again four chunks later: the consumer must be done with a chunk
 * before it asks for the fourth next one. undici asks for the next one only when the socket has taken the one before
 * (a chunk is larger than a socket's high-water mark, so every write waits for `drain`). That keeps memory flat for
 * any size, where fresh buffers would pile up some 60 MB until the next collection.
 * @param facts what `stat` said before; throws `changed()` when the file is another one at the end, before its last chunk.
 */
export async function* fileChunks(
  path: string,
  facts: BigIntStats,
  { changed, unreadable }: ChunkFaults,
): AsyncGenerator<Buffer> {
  const bytes = Number(facts.size);
  const handle = await open(path).catch(() => {
    throw changed();
  });
  try {
    const ring = Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(chunkBytes));
    for (let sent = 0, turn = 0; sent < bytes; turn = (turn + 1) % ring.length) {
      const buffer = ring[turn] ?? Buffer.allocUnsafeSlow(chunkBytes);
      const length = Math.min(chunkBytes, bytes - sent);
      const { bytesRead } = await handle.read(buffer, 0, length).catch((cause: unknown) => {
        throw unreadable(cause);
      });
      if (bytesRead === 0) throw changed();
      sent += bytesRead;
      if (sent === bytes && isOther(await handle.stat({ bigint: true }), facts)) throw changed();
      yield bytesRead === chunkBytes ? buffer : buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

const isOther = (now: BigIntStats, before: BigIntStats): boolean =>
  now.size !== before.size || now.mtimeNs !== before.mtimeNs || now.ino !== before.ino;
