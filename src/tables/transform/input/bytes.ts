// The bytes of a source: plain or unfolded from gzip, counted against compression bombs.
import { basename } from 'node:path';
import { Readable, type Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fileChunks } from '../../file-chunks.ts';
import type { CancelFlag } from '../../worker-pool.ts';
import { bomb, damaged, tooLarge } from '../faults.ts';
import type { Limits } from '../row.ts';

/** Chunks that can be read more than once. */
export type Bytes = () => AsyncIterable<Buffer>;

/** Counts what comes out of `folded` bytes; throws before it becomes too much. */
export class BombGuard {
  readonly #what: string;
  readonly #limits: Limits;
  #out = 0;

  constructor(what: string, limits: Limits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** `folded`: compressed bytes that were taken so far. */
  count(bytes: number, folded: number): void {
    this.#out += bytes;
    if (this.#out > this.#limits.bytes) throw tooLarge(this.#what, this.#limits);
    if (this.#out > this.#limits.freeBytes && this.#out > folded * this.#limits.ratio) {
      throw bomb(this.#what, this.#limits);
    }
  }
}

/** The bytes of a file, unfolded when its name ends with `.gz`. */
export const fileBytes = (
  path: string,
  name: string,
  { limits, cancelled }: { limits: Limits; cancelled: CancelFlag },
): Bytes => {
  if (!/\.gz$/i.test(name)) return () => Readable.from(fileChunks(path, cancelled));
  return () => gunzipped(path, { limits, cancelled });
};

async function* gunzipped(
  path: string,
  { limits, cancelled }: { limits: Limits; cancelled: CancelFlag },
): AsyncGenerator<Buffer> {
  const what = basename(path);
  const guard = new BombGuard(what, limits);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  const folded = Readable.from(fileChunks(path, cancelled));
  folded.on('error', (error) => gunzip.destroy(error));
  folded.pipe(gunzip);
  try {
    yield* counted(gunzip, guard);
  } catch (error) {
    throw isZlibFault(error) ? damaged(what, error) : error;
  } finally {
    folded.destroy();
    gunzip.destroy();
  }
}

async function* counted(gunzip: Transform & { bytesWritten: number }, guard: BombGuard): AsyncGenerator<Buffer> {
  for await (const chunk of gunzip as AsyncIterable<Buffer>) {
    guard.count(chunk.length, gunzip.bytesWritten);
    yield chunk;
  }
}

/** True for what zlib says of bytes that are not what they should be. */
export const isZlibFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^Z_/.test(String(error.code));
