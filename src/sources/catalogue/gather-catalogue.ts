// The wishes of a catalogue: every sound entry a dataset, every faulty one a reason.

import { EntryFaultError, type FileProblem, reasonOf } from '../../model/errors.ts';
import { datasetKey, uuidOfKey } from '../../model/key.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { datasetWish } from '../gather/dataset-wish.ts';
import type { SkippedEntry } from '../gather/skipped.ts';
import type { CatalogueManifest } from '../manifest/schema.ts';
import { datasetOf, type EntryNames, namesOf } from './entry.ts';
import { amended, isWanted } from './entry-paths.ts';
import { idOfIdentifier } from './ids.ts';
import { looked, readJsonLd } from './json-ld.ts';
import { type CatalogueEntry, type CatalogueLimits, readCatalogue } from './read-catalogue.ts';
import { Remarks } from './remarks.ts';

/** What a catalogue asks for. */
export interface GatheredCatalogue {
  /** In the order of the catalogue. */
  wishes: DatasetWish[];
  /** Entries that cannot be published; what they published before stays as it is. */
  skipped: SkippedEntry[];
  /** What is published otherwise than it stands in the catalogue, or not at all. */
  remarks: string[];
  /** The faulty entries with their places. */
  problems: FileProblem[];
}

/**
 * Gathers the catalogue whose bytes are given. Of several entries with one identifier the first is published.
 *
 * @throws CatalogueFaultError when the catalogue as a whole cannot be read: half a catalogue asks for nothing
 */
export const gatherCatalogue = async (
  manifest: CatalogueManifest,
  bytes: AsyncIterable<Uint8Array>,
  limits?: CatalogueLimits,
): Promise<GatheredCatalogue> => {
  const gathering = new Gathering(manifest);
  const passedOver = (key: string): void => gathering.passOver(key);
  const { from } = manifest.catalogue;
  const { isJsonLd, all } = await looked(bytes);
  if (isJsonLd) for (const entry of await readJsonLd(all, from)) gathering.add(entry);
  else for await (const entry of readCatalogue(all, from, { limits, passedOver })) gathering.add(entry);
  return gathering.end();
};

interface Faulty {
  entry: CatalogueEntry;
  names: EntryNames;
  faults: string[];
}

class Gathering {
  readonly #manifest: CatalogueManifest;
  readonly #remarks = new Remarks();
  readonly #wishes: DatasetWish[] = [];
  readonly #faulty: Faulty[] = [];
  /** Places of the sound entries, by id. */
  readonly #places = new Map<string, number>();

  constructor(manifest: CatalogueManifest) {
    this.#manifest = manifest;
  }

  passOver(key: string): void {
    if (!key.startsWith('@'))
      this.#remarks.add(key, 'of the catalogue is not published: only its datasets are', 'its head');
  }

  add(entry: CatalogueEntry): void {
    const { catalogue, defaults } = this.#manifest;
    if (!isWanted(entry.value, catalogue)) return;
    const value = amended(entry.value, catalogue);
    const names = namesOf(value);
    const first = names.identifier === null ? undefined : this.#places.get(idOfIdentifier(names.identifier));
    if (first !== undefined) {
      this.#faulty.push({ entry, names, faults: [`entry ${first} has the same identifier and is published`] });
      return;
    }
    const { dataset, faults } = datasetOf(value, {
      files: catalogue.files,
      defaults,
      remark: (part, what) => this.#remarks.add(part, what, `"${names.identifier ?? `entry ${entry.index}`}"`),
    });
    if (dataset === null) {
      this.#faulty.push({ entry, names, faults });
      return;
    }
    this.#places.set(dataset.id, entry.index);
    const { identifier } = dataset;
    this.#wishes.push({ ...datasetWish(this.#manifest, dataset), identifier });
  }

  end(): GatheredCatalogue {
    const taken = new Set(this.#wishes.map(({ key }) => key));
    return {
      wishes: this.#wishes,
      skipped: this.#faulty.map((faulty) => this.#skipped(faulty, taken)),
      remarks: this.#remarks.lines(),
      problems: this.#faulty.map(({ entry, names, faults }) => ({
        file: this.#manifest.catalogue.from,
        line: Math.max(1, entry.line),
        column: 1,
        key: '',
        message: `${nameOf(entry, names)}: ${faults.join('; ')}`,
      })),
    };
  }

  /** A double of a sound entry, or of another faulty one, is told under a key of its own. */
  #skipped({ entry, names, faults }: Faulty, taken: Set<string>): SkippedEntry {
    const { name, renamedFrom, catalogue } = this.#manifest;
    const id = names.identifier === null ? null : idOfIdentifier(names.identifier);
    const key = id === null || taken.has(datasetKey(name, id)) ? `${name}/entry#${entry.index}` : datasetKey(name, id);
    taken.add(key);
    return {
      key,
      uuid: id === null ? '' : uuidOfKey(datasetKey(renamedFrom ?? name, id)),
      title: names.title ?? names.identifier ?? `entry ${entry.index}`,
      isKnown: id !== null,
      reason: reasonOf(
        new EntryFaultError(
          `${nameOf(entry, names)} (${entry.line > 0 ? `line ${entry.line} of ` : ''}${catalogue.from}): ${faults.join('; ')}`,
          {
            hint: 'tell those who publish the catalogue; the other entries are not touched by it',
          },
        ),
      ),
    };
  }
}

/** `entry 3 "cftc-dc1"`; by its title where it has no identifier. */
const nameOf = ({ index }: CatalogueEntry, { identifier, title }: EntryNames): string => {
  const who = identifier ?? title ?? '';
  return who === '' ? `entry ${index}` : `entry ${index} "${who.slice(0, 120)}"`;
};
