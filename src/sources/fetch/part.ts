// A partial download: `<file>.part`, with a note of the safe bytes and the version they belong to.
import { createHash, type Hash, randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { SourceUnreachableError } from '../../model/errors.ts';
import { gone, isErrno, syncFolder, unless, writeDurably } from '../../util/durable.ts';
import { makeFolder } from '../../util/make-folder.ts';

/** How much, or for how long (ms), may be written before it is noted as safe. */
const noteBytes = 8 * 1024 * 1024;
const noteMs = 2_000;
const chunkBytes = 1024 * 1024;

const noteSchema = z.object({
  url: z.string(),
  /** For If-Range: a strong ETag or a date; null where the rest cannot be requested. */
  validator: z.string().nullable(),
  /** Bytes that are on the disk whatever happens. */
  safeBytes: z.number().int().nonnegative(),
});

type Note = z.infer<typeof noteSchema>;

/** What an earlier, interrupted fetch left behind. */
export interface LeftPart {
  /** Bytes to resume after. */
  bytes: number;
  /** For If-Range; null where nothing can be resumed, as after an encoded fetch. */
  validator: string | null;
}

/** What an earlier fetch of `url` left beside `into`; a part that is of no use is removed. */
export const leftPart = async (into: string, url: string): Promise<LeftPart | null> => {
  const note = await readNote(into);
  const size = (await unless(stat(partOf(into)), gone, null))?.size ?? 0;
  if (note?.url !== url || size < note.safeBytes) {
    await discardPart(into);
    return null;
  }
  return { bytes: note.safeBytes, validator: note.safeBytes === 0 ? null : note.validator };
};

/** Removes what an earlier fetch left. */
export const discardPart = async (into: string): Promise<void> => {
  await rm(noteOf(into), { force: true });
  await rm(partOf(into), { force: true });
};

/** The part of one fetch. End it with `finish`, `keep` or `discard`. */
export class Part {
  readonly into: string;
  private readonly handle: FileHandle;
  private readonly hash: Hash;
  private readonly note: Omit<Note, 'safeBytes'>;
  private readonly timer: NodeJS.Timeout;
  private noting: Promise<void> | null = null;
  private notedBytes: number;
  private size: number;

  private constructor(
    into: string,
    handle: FileHandle,
    begun: { note: Omit<Note, 'safeBytes'>; hash: Hash; bytes: number },
  ) {
    this.into = into;
    this.handle = handle;
    this.note = begun.note;
    this.hash = begun.hash;
    this.size = begun.bytes;
    this.notedBytes = begun.bytes;
    this.timer = setInterval(() => this.noteSoon(), noteMs);
  }

  /** Begins an empty part in a new file, so that another process which still writes to an older one does no harm. */
  static async begin(into: string, note: Omit<Note, 'safeBytes'>): Promise<Part> {
    await makeFolder(dirname(into));
    await discardPart(into);
    const handle = await open(partOf(into), 'wx');
    return new Part(into, handle, { note, hash: createHash('sha256'), bytes: 0 });
  }

  /**
   * Resumes after the first `bytes` bytes, which are hashed again. What follows them is overwritten, not truncated:
   * another process that resumes the same version writes the same bytes to the same places.
   */
  static async resume(into: string, note: Omit<Note, 'safeBytes'>, bytes: number, signal: AbortSignal): Promise<Part> {
    const handle = await open(partOf(into), 'r+');
    const hash = createHash('sha256');
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (let at = 0; at < bytes; ) {
        signal.throwIfAborted();
        const { bytesRead } = await handle.read(chunk, 0, Math.min(chunkBytes, bytes - at), at);
        if (bytesRead === 0) throw moved(into);
        hash.update(chunk.subarray(0, bytesRead));
        at += bytesRead;
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new Part(into, handle, { note, hash, bytes });
  }

  /** Bytes so far. */
  get bytes(): number {
    return this.size;
  }

  /** Appends a chunk. */
  async write(chunk: Uint8Array): Promise<void> {
    this.hash.update(chunk);
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.handle.write(chunk, done, chunk.length - done, this.size + done);
      done += bytesWritten;
    }
    this.size += chunk.length;
    if (this.size - this.notedBytes >= noteBytes) this.noteSoon();
  }

  /** Makes the part the file, at once and durably; resolves with what is in it. */
  async finish(): Promise<{ bytes: number; sha256: string }> {
    // An unguessable name: what is proven to be ours there cannot be replaced before the last rename.
    const whole = `${this.into}.${randomBytes(6).toString('hex')}`;
    try {
      await this.stopNoting();
      await this.handle.truncate(this.size);
      await this.handle.sync();
      if (!(await this.isAt(partOf(this.into)))) throw moved(this.into);
      await unless(rename(partOf(this.into), whole), ['ENOENT'], undefined);
      if (!(await this.isAt(whole))) {
        await rm(whole, { force: true });
        throw moved(this.into);
      }
    } finally {
      await this.handle.close();
    }
    await rename(whole, this.into);
    await syncFolder(dirname(this.into));
    await rm(noteOf(this.into), { force: true });
    return { bytes: this.size, sha256: this.hash.digest('hex') };
  }

  /** Leaves the part for a later fetch to resume, where that is possible. Never rejects. */
  async keep(): Promise<void> {
    try {
      await this.stopNoting();
      await this.noteSafe();
      if (this.note.validator === null) await rm(partOf(this.into), { force: true });
    } catch {
      // The fetch has failed already; the part is judged again by the next one.
    } finally {
      await this.handle.close().catch(() => undefined);
    }
  }

  /** Removes the part. */
  async discard(): Promise<void> {
    await this.stopNoting();
    await this.handle.close();
    await discardPart(this.into);
  }

  /** Notes what is safe while more comes in. A failure shows at the next write, or loses what came since the last note. */
  private noteSoon(): void {
    if (this.note.validator === null || this.noting !== null || this.size === this.notedBytes) return;
    this.noting = this.noteSafe()
      .catch(() => undefined)
      .finally(() => {
        this.noting = null;
      });
  }

  private async isAt(path: string): Promise<boolean> {
    const own = await this.handle.stat({ bigint: true });
    return (await unless(stat(path, { bigint: true }), ['ENOENT'], null))?.ino === own.ino;
  }

  private async stopNoting(): Promise<void> {
    clearInterval(this.timer);
    await this.noting;
  }

  private async noteSafe(): Promise<void> {
    const { size } = this; // what comes in meanwhile is not safe yet
    await this.handle.datasync();
    const safeBytes = this.note.validator === null ? 0 : size;
    await writeDurably(noteOf(this.into), JSON.stringify({ ...this.note, safeBytes } satisfies Note));
    this.notedBytes = size;
  }
}

const partOf = (into: string): string => `${into}.part`;
const noteOf = (into: string): string => `${into}.part.json`;

const readNote = async (into: string): Promise<Note | null> => {
  try {
    return noteSchema.parse(JSON.parse(await readFile(noteOf(into), 'utf8')));
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'EIO')) throw error;
    return null; // none, or not ours
  }
};

const moved = (into: string): SourceUnreachableError =>
  new SourceUnreachableError(`another process is fetching ${into}`, {
    hint: 'sluice retries by itself; only one worker may use a state folder',
  });
