// The wishes of a catalogue: every sound entry a dataset, every faulty one a reason.
import { EntryFaultError, fileProblem, reasonOf } from '../../model/errors.ts';
import { datasetKey, resourceKey, uuidOfKey } from '../../model/key.ts';
import type { DatasetWish } from '../../model/wish.ts';
import { isObject } from '../../util/json.ts';
import { type Completeness, datasetWish, type GatheredList, type SkippedEntry } from '../gather/dataset-wish.ts';
import type { CatalogueSpec } from '../manifest/list-schemas.ts';
import type { CatalogueManifest } from '../manifest/schema.ts';
import type { CatalogueSource } from './catalogue-bytes.ts';
import type { LeftOut } from './distributions.ts';
import {
  asDataset,
  type CatalogueDataset,
  type DescribedEntry,
  datasetOf,
  describedIn,
  type EntryNames,
  namesOf,
} from './entry.ts';
import type { catalogueLimits } from './read-catalogue.ts';
import { idOfIdentifier, longestText, referenceOf, textOf } from './values.ts';
import { CatalogueWalk } from './walk.ts';

/** True when the entry passes `filters` and `excludes`. Values are compared as text. */
export const isWanted = (entry: unknown, { filters, excludes }: Pick<CatalogueSpec, 'filters' | 'excludes'>): boolean =>
  Object.entries(filters).every(([path, values]) => hasOneOf(entry, path, values)) &&
  !Object.entries(excludes).some(([path, values]) => hasOneOf(entry, path, values));

/** True where the entry has nothing at the path of a filter: it may be one that passed it before. */
const isUnclear = (entry: unknown, { filters }: Pick<CatalogueSpec, 'filters'>): boolean =>
  Object.keys(filters).some((path) => valuesAt(entry, path.split('.')).length === 0);

/** The entry with `defaults` where it has nothing and with `overrides`; the one given is left as it is. */
export const amended = (entry: unknown, { defaults, overrides }: Pick<CatalogueSpec, 'defaults' | 'overrides'>) => {
  if (!isObject(entry) || Object.keys({ ...defaults, ...overrides }).length === 0) return entry;
  const copy = structuredClone(entry);
  for (const [path, value] of Object.entries(defaults)) put(copy, path.split('.'), { value, force: false });
  for (const [path, value] of Object.entries(overrides)) put(copy, path.split('.'), { value, force: true });
  return copy;
};

const hasOneOf = (entry: unknown, path: string, values: readonly (string | number | boolean)[]): boolean =>
  valuesAt(entry, path.split('.')).some((value) => values.some((wanted) => String(wanted) === String(value)));

const valuesAt = (value: unknown, [step, ...rest]: string[]): unknown[] => {
  if (Array.isArray(value)) {
    const index = step !== undefined && /^\d+$/.test(step) ? Number(step) : null;
    if (index !== null) return valuesAt(value[index], rest);
    return value.flatMap((item) => valuesAt(item, step === undefined ? [] : [step, ...rest]));
  }
  if (step === undefined) return value === undefined || value === null || isObject(value) ? [] : [value];
  return isObject(value) && Object.hasOwn(value, step) ? valuesAt(value[step], rest) : [];
};

/** Puts a value at a path; one that is there is only replaced by `force`. */
const put = (target: unknown, [step, ...rest]: string[], how: { value: unknown; force: boolean }): void => {
  if (step === undefined) return;
  if (Array.isArray(target) && !/^\d+$/.test(step)) {
    for (const item of target) put(item, [step, ...rest], how);
    return;
  }
  if (Array.isArray(target) ? Number(step) >= target.length : !isObject(target)) return;
  const around = target as Record<string, unknown>; // a mapping, or a list by its index
  if (rest.length === 0 && (how.force || isEmpty(around[step]))) around[step] = structuredClone(how.value);
  if (rest.length === 0) return;
  if (isEmpty(around[step]) && !Array.isArray(target)) around[step] = {};
  put(around[step], rest, how);
};

/** Less than what counts as nothing elsewhere: a list of empty objects is one that values are put into. */
const isEmpty = (value: unknown): boolean =>
  value == null || value === '' || (Array.isArray(value) && value.length === 0);

export type GatheredCatalogue = Omit<GatheredList, 'wishes'>;

/**
 * Gathers a catalogue with all its pages and parts; `take` gets each wish as soon as it is read, in the order of the catalogue. Of
 * several entries with one identifier the first is published.
 *
 * @throws CatalogueFaultError when the catalogue as a whole cannot be read: half a catalogue publishes nothing
 */
export const gatherCatalogue = async (
  manifest: CatalogueManifest,
  source: CatalogueSource,
  take: (wish: DatasetWish) => Promise<void>,
  limits?: typeof catalogueLimits,
): Promise<GatheredCatalogue> => {
  const gathering = new Gathering(manifest);
  const { from } = manifest.catalogue;
  const walk = new CatalogueWalk(source, limits, (key) => gathering.passOver(key));
  for await (const entry of walk.entries(from)) {
    for (const described of describedIn(entry)) {
      const wish = gathering.add(described);
      if (wish) await take(wish);
    }
  }
  const complete: Completeness = walk.doubts.size === 0 || [...walk.doubts].join('; ');
  const confirm = async (): Promise<Completeness> => {
    const again = new CatalogueWalk(source, limits);
    for await (const _entry of again.entries(from)); // only what it found counts
    return walk.isLike(again) || 'the catalogue changed while it was read';
  };
  return { ...gathering.end(walk), complete, ...(complete === true && { confirm }), offered: source.offered };
};

interface Faulty {
  entry: DescribedEntry;
  names: EntryNames;
  faults: string[];
  isGuessed?: boolean;
}

class Gathering {
  readonly #manifest: CatalogueManifest;
  readonly #remarks = new Map<string, { times: number; first: string }>();
  readonly #faulty: Faulty[] = [];
  readonly #leftOut: SkippedEntry[] = [];
  /** Keys of what is named only, where that is no fault. */
  readonly #spared: string[] = [];
  readonly #places = new Map<string, Pick<DescribedEntry, 'index' | 'member'>>();
  /** What entries call themselves, wanted or not, and those that are only named. */
  readonly #described = new Set<string | null>();
  readonly #named = new Map<string, DescribedEntry>();

  constructor(manifest: CatalogueManifest) {
    this.#manifest = manifest;
  }

  passOver(key: string): void {
    if (!key.startsWith('@'))
      this.#remark(key, 'of the catalogue is not published: only datasets and services are', 'its head');
  }

  #remark(part: string, what: string, where: string): void {
    const text = `\`${part.slice(0, longestText)}\` ${what}`;
    const { times, first } = this.#remarks.get(text) ?? { times: 0, first: where };
    this.#remarks.set(text, { times: times + 1, first });
  }

  #remarkLines(): string[] {
    const sorted = [...this.#remarks].sort(([a, { times: m }], [b, { times: n }]) => n - m || (a < b ? -1 : 1));
    const lines = sorted.map(([text, { times, first }]) => {
      return `${text} (${times === 1 ? `in ${first}` : `${times} times, first in ${first}`})`;
    });
    const more = lines.splice(60).length;
    return more > 0 ? [...lines, `and ${more} more kinds of remarks`] : lines;
  }

  add(entry: DescribedEntry): DatasetWish | null {
    const { catalogue, name } = this.#manifest;
    const reference = referenceOf(entry.value);
    if (reference !== null && entry.member > 0) this.#spared.push(datasetKey(name, idOfIdentifier(reference)));
    else if (reference !== null) this.#named.set(reference, this.#named.get(reference) ?? entry);
    if (reference !== null || entry.isRepeated) return null;
    const { identifier } = namesOf(asDataset(entry.value, entry.isService));
    if (isObject(entry.value)) this.#described.add(textOf(entry.value['@id'])).add(identifier);
    if (!isWanted(entry.value, catalogue)) {
      if (identifier !== null && isUnclear(entry.value, catalogue))
        this.#spared.push(datasetKey(name, idOfIdentifier(identifier)));
      return null;
    }
    const value = asDataset(amended(entry.value, catalogue), entry.isService);
    const names = namesOf(value);
    const where = `"${names.identifier ?? `entry ${entry.index}`}"`;
    const first = names.identifier === null ? undefined : this.#places.get(idOfIdentifier(names.identifier));
    if (first) {
      if (first.member > 0 || entry.member > 0)
        this.#remark('seriesMember', 'is described twice: the first description is used', where);
      else this.#faulty.push({ entry, names, faults: [`entry ${first.index} has the same identifier and is used`] });
      return null;
    }
    const remark = (part: string, what: string): void => this.#remark(part, what, where);
    const { dataset, faults, leftOut = [] } = datasetOf(value, this.#manifest, remark);
    if (dataset === null) {
      this.#faulty.push({ entry, names, faults });
      return null;
    }
    this.#places.set(dataset.id, { index: entry.index, member: entry.member });
    const keyOf = ({ id, position }: LeftOut): string =>
      resourceKey(name, dataset.id, id ?? `distribution#${position}`);
    const empty = leftOut.filter(({ fault }) => fault === '');
    const faulty = leftOut.filter(({ fault }) => fault !== '');
    this.#leftOut.push(...faulty.map((part) => this.#partOf(dataset, entry, { ...part, key: keyOf(part) })));
    this.#spared.push(...empty.map(keyOf));
    return { ...datasetWish(this.#manifest, dataset), identifier: dataset.identifier, alias: dataset.alias };
  }

  end({ lost }: Pick<CatalogueWalk, 'lost'>): Omit<GatheredCatalogue, 'complete'> {
    const { name } = this.#manifest;
    for (const [identifier, entry] of this.#named) {
      if (this.#described.has(identifier)) continue;
      const faults = ['it is named, but not described'];
      this.#faulty.push({ entry, names: { identifier, title: null }, faults, isGuessed: true });
    }
    const taken = new Set(this.#places.keys().map((id) => datasetKey(name, id)));
    const entries = this.#faulty.map((faulty) => this.#skipped(faulty, taken));
    const parts = lost.map(({ address, error }, at): SkippedEntry => {
      const reason = { ...reasonOf(error), message: `a part of the catalogue cannot be read: ${error.message}` };
      const problems = [fileProblem(address, error.message)];
      return { key: datasetKey(name, `part#${at + 1}`), uuid: '', title: address, isKnown: false, reason, problems };
    });
    const skipped = [...parts, ...entries, ...this.#leftOut];
    return { skipped, spared: this.#spared, remarks: this.#remarkLines() };
  }

  /** A duplicate of another entry, sound or faulty, gets a key of its own. */
  #skipped({ entry, names, faults, isGuessed = false }: Faulty, taken: Set<string>): SkippedEntry {
    const id = names.identifier === null ? null : idOfIdentifier(names.identifier);
    const own = id === null ? null : datasetKey(this.#manifest.name, id);
    const key = own === null || taken.has(own) ? datasetKey(this.#manifest.name, `entry#${placeOf(entry)}`) : own;
    taken.add(key);
    const title = names.title ?? names.identifier ?? `entry ${entry.index}`;
    const former = id === null ? null : datasetKey(this.#firstName, id);
    return this.#item(entry, names, { key, former, title, isGuessed, fault: faults.join('; ') });
  }

  #partOf(dataset: CatalogueDataset, entry: DescribedEntry, part: LeftOut & { key: string }): SkippedEntry {
    const { id, key, position, isGuessed } = part;
    const former = id === null ? null : resourceKey(this.#firstName, dataset.id, id);
    const fault = `distribution ${position} is left out: ${part.fault}`;
    return this.#item(entry, dataset, { key, former, title: part.title ?? dataset.title, isGuessed, fault });
  }

  get #firstName(): string {
    return this.#manifest.renamedFrom ?? this.#manifest.name;
  }

  /** `former`: the key that its identity is made of; null where that is unknown. */
  #item(
    entry: DescribedEntry,
    names: EntryNames,
    { key, former, title, isGuessed, fault }: Record<'key' | 'title' | 'fault', string> & Former,
  ): SkippedEntry {
    const name = nameOf(entry, names);
    const place = entry.line > 0 ? `line ${entry.line} of ` : '';
    const hint = 'report it to the publisher of the catalogue; other entries are not affected';
    const reason = reasonOf(new EntryFaultError(`${name} (${place}${entry.name}): ${fault}`, { hint }));
    const uuid = former === null ? '' : uuidOfKey(former);
    const problems = [{ ...fileProblem(entry.name, `${name}: ${fault}`), line: Math.max(1, entry.line) }];
    return { key, uuid, title, isKnown: former !== null && !isGuessed, isGuessed, reason, problems };
  }
}

type Former = { former: string | null; isGuessed: boolean };

/** `3`, or `3.2` for the second member of a series. */
const placeOf = ({ index, member }: DescribedEntry): string => (member === 0 ? String(index) : `${index}.${member}`);

/** `entry 3 "cftc-dc1"`; by its title where it has no identifier. */
const nameOf = (entry: DescribedEntry, { identifier, title }: EntryNames): string => {
  const who = identifier ?? title ?? '';
  return who === '' ? `entry ${placeOf(entry)}` : `entry ${placeOf(entry)} "${who.slice(0, 120)}"`;
};
