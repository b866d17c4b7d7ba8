// What is published: a manifest of datasets with a table each, which changes from version to version by the seed.
import { createHash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { datasetKey, resourceKey, uuidOfKey } from '../../../src/model/key.ts';
import type { Random } from '../../support/random.ts';

/** What the portal must hold of one dataset in the end. */
export interface Expected {
  id: string;
  uuid: string;
  title: string;
  description: string;
  tags: string[];
  table: { uuid: string; title: string; file: string; sha256: string; bytes: number; rows: number };
}

interface State {
  words: number;
  table: number;
}

/** Name of the manifest. */
export const cityName = 'chaos';

/** A city's data, in a folder. */
export class City {
  readonly manifest: string;
  readonly #dir: string;
  readonly #random: Random;
  readonly #states: State[];

  constructor(dir: string, datasets: number, random: Random) {
    this.#dir = dir;
    this.#random = random;
    this.#states = Array.from({ length: datasets }, () => ({ words: 1, table: 1 }));
    this.manifest = join(dir, `${cityName}.yaml`);
    mkdirSync(join(dir, 'data'), { recursive: true });
    for (const index of this.#states.keys()) this.#writeTable(index);
    this.#writeManifest();
  }

  /** Changes words of some datasets and tables of some others; files are replaced whole. */
  change(): void {
    for (const [index, state] of this.#states.entries()) {
      if (this.#random.chance(0.4)) state.words += 1;
      if (!this.#random.chance(0.5)) continue;
      state.table += 1;
      this.#writeTable(index);
    }
    this.#writeManifest();
  }

  expected(): Expected[] {
    return this.#states.map((state, index) => {
      const id = idOf(index);
      const text = tableText(index, state.table);
      return {
        id,
        uuid: uuidOfKey(datasetKey(cityName, id)),
        ...wordsOf(index, state.words),
        table: {
          uuid: uuidOfKey(resourceKey(cityName, id, 'table')),
          title: `Table of ${id}`,
          file: `${id}.csv`,
          sha256: createHash('sha256').update(text).digest('hex'),
          bytes: Buffer.byteLength(text),
          rows: rowsOf(index, state.table),
        },
      };
    });
  }

  #writeTable(index: number): void {
    this.#replace(join('data', `${idOf(index)}.csv`), tableText(index, this.#states[index]?.table ?? 1));
  }

  #writeManifest(): void {
    const datasets = this.expected().map(({ id, title, description, tags, table }) => ({
      id,
      title,
      description,
      tags,
      resources: [{ id: 'table', title: table.title, file: `data/${table.file}` }],
    }));
    this.#replace(`${cityName}.yaml`, JSON.stringify({ name: cityName, portal: 'local', datasets }));
  }

  #replace(name: string, text: string): void {
    const path = join(this.#dir, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

const idOf = (index: number): string => `d${String(index).padStart(3, '0')}`;

const wordsOf = (index: number, version: number): Pick<Expected, 'title' | 'description' | 'tags'> => ({
  title: `Dataset ${idOf(index)} v${version}`,
  description: `Words of ${idOf(index)}, version ${version}.`,
  tags: version % 2 === 0 ? ['chaos', 'even'] : ['chaos'],
});

/** Every 50th table is larger than what is sent from one buffer. */
const rowsOf = (index: number, version: number): number =>
  index % 50 === 49 ? 30_000 + version : 1 + ((index + version) % 17);

/** Every fifth table has semicolons, so that the portal must be told and its import ordered. */
const tableText = (index: number, version: number): string => {
  const mark = index % 5 === 3 ? ';' : ',';
  const rows = Array.from({ length: rowsOf(index, version) }, (_, row) =>
    [row, idOf(index), `version ${version} of a value that takes some room`].join(mark),
  );
  return `id${mark}name${mark}value\n${rows.join('\n')}\n`;
};
