// Which files of a dataset were stored before its data package is written, so that a killed export fetches none twice.
import { constants } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../../util/json.ts';
import { sizeOf } from './folder.ts';
import { resourceSchema } from './record.ts';

const lineSchema = resourceSchema.pick({ file: true, findings: true }).extend({ nid: z.string() });

/** A file that was looked for: where it is, or that it is nowhere. */
export type Stored = Omit<z.infer<typeof lineSchema>, 'nid'>;

/** Through no link. */
const appending = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;

/** See the head of this file. A torn last line is none. */
export class ProgressFile {
  readonly #path: string;
  readonly #stored = new Map<string, Stored>();

  private constructor(path: string) {
    this.#path = path;
  }

  /** Opens that of the folder of a dataset. */
  static async open(folder: string): Promise<ProgressFile> {
    const progress = new ProgressFile(join(folder, '.stored.jsonl'));
    const text = (await sizeOf(progress.#path)) === null ? '' : await readFile(progress.#path, 'utf8');
    for (const line of text.split('\n')) {
      const { nid, ...stored } = lineSchema.safeParse(parsedJson(line)).data ?? {};
      if (nid !== undefined && 'file' in stored) progress.#stored.set(nid, stored as Stored); // as parsed
    }
    return progress;
  }

  /** What was stored for a resource. */
  of(nid: string): Stored | undefined {
    return this.#stored.get(nid);
  }

  /** Writes down what was stored for a resource. */
  async add(nid: string, stored: Stored): Promise<void> {
    const handle = await open(this.#path, appending);
    await handle.appendFile(`${JSON.stringify({ nid, ...stored })}\n`).finally(() => handle.close());
  }

  /** Everything stands in the data package now. */
  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}
