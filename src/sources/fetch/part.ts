// A download on its way: a file beside the one that it becomes.
import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SourceUnreachableError } from '../../model/errors.ts';
import { isErrno, syncFolder } from '../../util/durable.ts';
import { makeFolder } from '../../util/make-folder.ts';

/** The part of one fetch. End it with `finish` or `discard`. */
export class Part {
  readonly #into: string;
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  private constructor(into: string, path: string, handle: FileHandle) {
    this.#into = into;
    this.#path = path;
    this.#handle = handle;
  }

  /** Begins an empty part of the file `into`; what interrupted fetches left of it is removed. */
  static async begin(into: string): Promise<Part> {
    const folder = dirname(into);
    await makeFolder(folder, 0o700);
    for (const name of await readdir(folder)) {
      if (name.startsWith(`${basename(into)}.`) && name.endsWith('.part'))
        await rm(join(folder, name), { force: true });
    }
    const path = `${into}.${randomBytes(6).toString('hex')}.part`;
    return new Part(into, path, await open(path, 'wx'));
  }

  get bytes(): number {
    return this.#bytes;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#hash.update(chunk);
    for (let done = 0; done < chunk.length; ) done += (await this.#handle.write(chunk, done)).bytesWritten;
    this.#bytes += chunk.length;
  }

  /** Makes the part the file, at once and durably; resolves with what is in it. */
  async finish(): Promise<{ bytes: number; sha256: string }> {
    try {
      await this.#handle.sync();
      await rename(this.#path, this.#into);
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
      throw new SourceUnreachableError(`another process is fetching ${this.#into}`, {
        hint: 'sluice retries by itself; only one worker may use a state folder',
      });
    } finally {
      await this.#handle.close();
    }
    await syncFolder(dirname(this.#into));
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async discard(): Promise<void> {
    await this.#handle.close();
    await rm(this.#path, { force: true });
  }
}
