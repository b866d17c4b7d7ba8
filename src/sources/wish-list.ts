// The wishes of a source in its order. Large lists are in a file, so that memory does not grow with the source.
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatasetWish } from '../model/wish.ts';
import { makeFolder } from '../util/files.ts';

/** A page is closed when it has as many datasets, or datasets and resources; up to so many of all pages stay in memory. */
const [pageDatasets, pageItems, itemsInMemory] = [200, 2000, 5000];

type Spilled = { position: number; length: number };

/** Takes wishes one by one and yields them in pages, any number of times. Must be closed. */
export class WishList {
  readonly keys = new Set<string>();
  length = 0;
  readonly #folder: string;
  readonly #pages: (DatasetWish[] | Spilled)[] = [];
  #last: DatasetWish[] = [];
  #file: FileHandle | null = null;
  #end = 0;

  /** `folder` is made when it is needed. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  static of(wishes: readonly DatasetWish[]): WishList {
    const list = new WishList('');
    for (const wish of wishes) list.#take(wish);
    return list;
  }

  async add(wish: DatasetWish): Promise<void> {
    this.#take(wish);
    const items = this.#last.reduce((sum, { resources }) => sum + 1 + resources.length, 0);
    if (this.#last.length < pageDatasets && items < pageItems) return;
    this.#pages.push(this.keys.size > itemsInMemory ? await this.#spill(this.#last) : this.#last);
    this.#last = [];
  }

  async *pages(): AsyncGenerator<DatasetWish[]> {
    for (const page of this.#pages) yield Array.isArray(page) ? page : await this.#read(page);
    if (this.#last.length > 0) yield this.#last;
  }

  async all(): Promise<DatasetWish[]> {
    return (await Array.fromAsync(this.pages())).flat();
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  #take(wish: DatasetWish): void {
    this.#last.push(wish);
    this.length += 1;
    for (const { key } of [wish, ...wish.resources]) this.keys.add(key);
  }

  async #spill(page: DatasetWish[]): Promise<Spilled> {
    this.#file ??= await openUnnamed(this.#folder);
    const bytes = Buffer.from(JSON.stringify(page));
    await this.#file.write(bytes, 0, bytes.length, this.#end);
    this.#end += bytes.length;
    return { position: this.#end - bytes.length, length: bytes.length };
  }

  async #read({ position, length }: Spilled): Promise<DatasetWish[]> {
    const { buffer, bytesRead } = (await this.#file?.read(Buffer.alloc(length), 0, length, position)) ?? {};
    if (!buffer || bytesRead !== length) throw new Error('the list of wishes was closed');
    return JSON.parse(buffer.toString()) as DatasetWish[]; // written above
  }
}

/** A file that the system removes with the process, however that ends. */
const openUnnamed = async (folder: string): Promise<FileHandle> => {
  await makeFolder(folder, 0o700);
  const path = join(folder, `wishes-${randomUUID()}.json`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
};
