// The wishes of a catalogue: every sound entry a dataset, every faulty one a reason.

import { EntryFaultError, reasonOf } from '../../model/errors.ts';
import { datasetKey, uuidOfKey } from '../../model/key.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { isObject } from '../../util/json.ts';
import { datasetWish, type GatheredList, type SkippedEntry } from '../gather/dataset-wish.ts';
import type { CatalogueSpec } from '../manifest/list-schemas.ts';
import type { CatalogueManifest } from '../manifest/schema.ts';
import { datasetOf, type EntryNames, namesOf } from './entry.ts';
import { looked, readJsonLd } from './json-ld.ts';
import { type CatalogueEntry, type CatalogueLimits, readCatalogue } from './read-catalogue.ts';
import { idOfIdentifier } from './values.ts';

const longestList = 60;

/** Collects remarks; equal ones are told once, with their number. */
class Remarks {
  readonly #counts = new Map<string, { times: number; first: string }>();

  /** Notes one. `where` names the entry. */
  add(part: string, what: string, where: string): void {
    const text = `\`${part}\` ${what}`;
    const known = this.#counts.get(text);
    if (known) known.times += 1;
    else this.#counts.set(text, { times: 1, first: where });
  }

  /** One line for each kind, the frequent ones first. */
  lines(): string[] {
    const sorted = [...this.#counts].sort(([a, { times: m }], [b, { times: n }]) => n - m || (a < b ? -1 : 1));
    const lines = sorted.slice(0, longestList).map(([text, { times, first }]) => {
      const often = times === 1 ? `in ${first}` : `${times} times, first in ${first}`;
      return `${text} (${often})`;
    });
    return sorted.length > longestList ? [...lines, `and ${sorted.length - longestList} more kinds of remarks`] : lines;
  }
}

/** True when the entry passes `filters` and `excludes`. Values are compared as text. */
export const isWanted = (entry: unknown, { filters, excludes }: Pick<CatalogueSpec, 'filters' | 'excludes'>): boolean =>
  Object.entries(filters).every(([path, values]) => hasOneOf(entry, path, values)) &&
  !Object.entries(excludes).some(([path, values]) => hasOneOf(entry, path, values));

/** The entry with `defaults` where it has nothing and with `overrides`; the one given is left as it is. */
export const amended = (
  entry: unknown,
  { defaults, overrides }: Pick<CatalogueSpec, 'defaults' | 'overrides'>,
): unknown => {
  if (!isObject(entry)) return entry;
  if (Object.keys(defaults).length === 0 && Object.keys(overrides).length === 0) return entry;
  const copy = structuredClone(entry);
  for (const [path, value] of Object.entries(defaults)) put(copy, path.split('.'), { value, force: false });
  for (const [path, value] of Object.entries(overrides)) put(copy, path.split('.'), { value, force: true });
  return copy;
};

const hasOneOf = (entry: unknown, path: string, values: readonly (string | number | boolean)[]): boolean => {
  const wanted = new Set(values.map(String));
  return valuesAt(entry, path.split('.')).some((value) => wanted.has(String(value)));
};

/** Every plain value at a path. */
const valuesAt = (value: unknown, [step, ...rest]: string[]): unknown[] => {
  if (Array.isArray(value)) {
    const index = step !== undefined && /^\d+$/.test(step) ? Number(step) : null;
    if (index !== null) return valuesAt(value[index], rest);
    return value.flatMap((item) => valuesAt(item, step === undefined ? [] : [step, ...rest]));
  }
  if (step === undefined) return value === undefined || value === null || isObject(value) ? [] : [value];
  return isObject(value) && Object.hasOwn(value, step) ? valuesAt(value[step], rest) : [];
};

interface Put {
  value: unknown;
  /** Also where something stands. */
  force: boolean;
}

const put = (target: unknown, [step, ...rest]: string[], how: Put): void => {
  if (step === undefined) return;
  if (Array.isArray(target)) {
    if (!/^\d+$/.test(step)) for (const item of target) put(item, [step, ...rest], how);
    else if (rest.length > 0) put(target[Number(step)], rest, how);
    else if (Number(step) < target.length && (how.force || isNothing(target[Number(step)])))
      target[Number(step)] = structuredClone(how.value);
    return;
  }
  if (!isObject(target)) return;
  if (rest.length === 0) {
    if (how.force || isNothing(target[step])) target[step] = structuredClone(how.value);
    return;
  }
  if (isNothing(target[step])) target[step] = {};
  put(target[step], rest, how);
};

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** What is said of a catalogue beside its wishes. */
export type GatheredCatalogue = Omit<GatheredList, 'wishes'>;

/**
 * Gathers the catalogue whose bytes are given, each wish as soon as it is read, in the order of the catalogue. Of several
 * entries with one identifier the first is published.
 *
 * @throws CatalogueFaultError when the catalogue as a whole cannot be read: half a catalogue asks for nothing
 */
export const gatherCatalogue = async (
  manifest: CatalogueManifest,
  bytes: AsyncIterable<Uint8Array>,
  take: (wish: DatasetWish) => Promise<void>,
  limits?: CatalogueLimits,
): Promise<GatheredCatalogue> => {
  const gathering = new Gathering(manifest);
  const passedOver = (key: string): void => gathering.passOver(key);
  const { from } = manifest.catalogue;
  const { isJsonLd, all } = await looked(bytes);
  const entries = isJsonLd ? await readJsonLd(all, from) : readCatalogue(all, from, { limits, passedOver });
  for await (const entry of entries) {
    const wish = gathering.add(entry);
    if (wish) await take(wish);
  }
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

  /** The wish of an entry; null where it has none. */
  add(entry: CatalogueEntry): DatasetWish | null {
    const { catalogue, defaults } = this.#manifest;
    if (!isWanted(entry.value, catalogue)) return null;
    const value = amended(entry.value, catalogue);
    const names = namesOf(value);
    const first = names.identifier === null ? undefined : this.#places.get(idOfIdentifier(names.identifier));
    if (first !== undefined) {
      this.#faulty.push({ entry, names, faults: [`entry ${first} has the same identifier and is published`] });
      return null;
    }
    const { dataset, faults } = datasetOf(value, {
      files: catalogue.files,
      defaults,
      remark: (part, what) => this.#remarks.add(part, what, `"${names.identifier ?? `entry ${entry.index}`}"`),
    });
    if (dataset === null) {
      this.#faulty.push({ entry, names, faults });
      return null;
    }
    this.#places.set(dataset.id, entry.index);
    const { identifier } = dataset;
    return { ...datasetWish(this.#manifest, dataset), identifier };
  }

  end(): GatheredCatalogue {
    const taken = new Set(this.#places.keys().map((id) => datasetKey(this.#manifest.name, id)));
    return {
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
            hint: 'report it to the publisher of the catalogue; other entries are not affected',
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
