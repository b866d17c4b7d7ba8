// Reads a file piece by piece inside a worker thread, where waiting for the disk hinders nobody.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type CancelFlag, throwIfCancelled } from './worker-pool.ts';

const chunkBytes = 256 * 1024;

/** How {@link fileChunks} reads. */
export interface ChunkOptions {
  /** Read every chunk into the same memory: each must be done with before the next is asked for. */
  reuse?: boolean;
}

/**
 * Yields the bytes of a file in buffers of up to 256 KB, fresh ones unless told otherwise. Throws the system's error when
 * the file cannot be read and a CancelledError when the flag is raised.
 */
export function* fileChunks(path: string, cancelled: CancelFlag, options: ChunkOptions = {}): Generator<Buffer> {
  const fd = openSync(path, 'r');
  try {
    // One byte more than a small file has, so that the second read finds the end without a large buffer.
    const size = Math.min(chunkBytes, fstatSync(fd).size + 1);
    const same = options.reuse === true ? Buffer.allocUnsafeSlow(size) : null;
    for (;;) {
      throwIfCancelled(cancelled);
      const chunk = same ?? Buffer.allocUnsafeSlow(size);
      const bytes = readSync(fd, chunk, 0, size, null);
      if (bytes === 0) return;
      yield chunk.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}
