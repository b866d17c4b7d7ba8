// A wish and what the ledger knows of it: whether its file is sent, refused or late; its name and uuid on the portal. Pure.
import { hash } from 'node:crypto';
import { namedByBytes, namedWithEnding } from '../../dataset-api/file-types.ts';
import { uuidOfKey } from '../../model/key.ts';
import type { IndexedEntry, LedgerEntry, PortalFile } from '../../model/ledger-entry.ts';
import { isAnyText, isTabular, isUnread } from '../../model/recipe/recipe.ts';
import { type DatasetWish, type ResourceSource, type ResourceWish, sentName } from '../../model/wish.ts';
import { recipeOf } from '../../sources/gather/dataset-wish.ts';

/** True where rows are to be imported into the datastore. */
export const wantsImport = (wish: ResourceWish): boolean => wish.import === 'auto' && isTabular(sentName(wish));

/** What to do about a file whose format nobody reads, by what its bytes are; nothing where it shall have no rows. */
export const unreadTable = ({ source, import: mode }: ResourceWish, kind?: string | null): string[] => {
  if (mode !== 'auto' || !('name' in source) || !isUnread(source.name)) return [];
  const { name } = source;
  const named = namedByBytes(name, kind);
  const way = named === name ? 'save it as .xlsx or .csv' : `rename it to ${named}, which is what it is`;
  return [`${name} is published as a file, without rows, as its format is not read: ${way}, or set \`import: never\``];
};

/** What else is to be known of a file before it is sent. */
export const howRead = (wish: ResourceWish, kind?: string): string[] => {
  const { source, recipe } = wish;
  const isOpen = recipe?.asked === false && 'name' in source && isAnyText(source.name);
  return [
    ...unreadTable(wish, kind),
    ...(isOpen ? ['imported only if its text is certainly a table'] : []),
    ...(recipe?.mend ? ['fixed while publishing if faulty (mend: safe)'] : []),
  ];
};

/** True where the file on the portal was made from the present source by the present recipe. */
export const isSent = (
  file: PortalFile | null | undefined,
  sha256: string,
  { recipe }: Pick<ResourceWish, 'recipe'>,
): boolean => {
  if (!file) return false;
  if (!recipe) return file.sha256 === sha256;
  return file.from?.sha256 === sha256 && file.from.recipe === recipe.fingerprint;
};

/** Fingerprint of how a file is published, without its name, which may be known only once an address is fetched. */
export const importFingerprint = (wish: ResourceWish): string =>
  hash('sha256', JSON.stringify([wish.metadataFingerprint, wish.import, wish.recipe?.fingerprint ?? null]));

/** Fingerprint of what a table was held for: its recipe and limits. Other changes of the node are still published. */
export const guardFingerprint = ({ recipe, guard }: Pick<ResourceWish, 'recipe' | 'guard'>): string =>
  hash('sha256', JSON.stringify([recipe?.fingerprint ?? null, guard ?? null]));

/** True where the portal did not take or import exactly this file, or its guard holds it: it is not sent again. */
export const isRefusedFile = ({ refused, good }: LedgerEntry, wish: ResourceWish, sha256: string): boolean => {
  if (refused?.sha256 !== sha256) return false;
  const isKnown = good !== null || refused.isReplaced;
  if (refused.guard === undefined) return isKnown && refused.importFingerprint === importFingerprint(wish);
  return refused.guard !== 'released' && refused.importFingerprint === guardFingerprint(wish);
};

/** True for a table whose guard expected new data: the portal holds what the source still serves. */
export const isLate = ({ stale, reason, refused }: Pick<LedgerEntry, 'stale' | 'reason' | 'refused'>): boolean =>
  stale && reason?.code === 'held' && refused?.guard !== 'held' && refused?.guard !== 'released';

/** The wishes with the uuids of their nodes; a new item under the former key of a renamed node gets a uuid of its own. */
export const withKnownUuids = (
  wishes: DatasetWish[],
  entries: ReadonlyMap<string, LedgerEntry>,
  owners: ReadonlyMap<string, string>,
): DatasetWish[] => {
  const uuidOf = (wish: { key: string; uuid: string }): string => {
    const entry = entries.get(wish.key);
    if (entry?.nid) return entry.uuid;
    const owner = owners.get(wish.uuid);
    return owner === undefined || owner === wish.key ? wish.uuid : uuidOfKey(`${wish.key}#beside#${owner}`);
  };
  return wishes.map((wish) => ({
    ...wish,
    uuid: uuidOf(wish),
    resources: wish.resources.map((resource) => ({ ...resource, uuid: uuidOf(resource) })),
  }));
};

/** What the bytes of a file are, where they tell. */
type Bytes = { kind?: string | null };

/** The wishes with the file names that their bytes need, and those that were learned when their addresses were fetched. */
export const withKnownNames = (
  wishes: DatasetWish[],
  { entries, sources }: { entries: ReadonlyMap<string, LedgerEntry>; sources: ReadonlyMap<string, Bytes | null> },
): DatasetWish[] => {
  const named = (wish: ResourceWish): ResourceWish => {
    const { source } = wish;
    const entry = entries.get(wish.key);
    if (source.kind === 'file') return withBytes(wish, sources.get(wish.key));
    if (source.kind !== 'url' || entry?.fetched?.url !== source.url) return wish;
    return source.isNamed ? withBytes(wish, entry.source) : withSource(wish, { ...source, name: entry.fetched.name });
  };
  return wishes.map((wish) => ({ ...wish, resources: wish.resources.map(named) }));
};

/** The wish of bytes that are known, which have a say in how its file is named, and by that in how it is read. */
export const withBytes = (wish: ResourceWish, bytes: Bytes | null | undefined): ResourceWish => {
  const { source } = wish;
  if (!('name' in source)) return wish;
  const nameOf = source.kind === 'file' ? namedWithEnding : namedByBytes;
  return withSource(wish, { ...source, name: nameOf(source.name, bytes?.kind) });
};

/** The wish with its resolved source. A name such as `.xlsx` may imply a recipe, or rule one out that was not asked for. */
export const withSource = (wish: ResourceWish, source: ResourceSource): ResourceWish => {
  const isSame = 'name' in source && 'name' in wish.source && source.name === wish.source.name;
  const { recipe: known, ...rest } = wish;
  const recipe = known && (known.asked || isSame) ? known : recipeOf(wish.reading ?? {}, source, wish.import);
  return { ...rest, source, ...(recipe === null ? {} : { recipe }) };
};

/** Keys of all entries that have a node, by uuid. */
export const ownersOf = (entries: Iterable<Pick<LedgerEntry, 'key' | 'uuid' | 'nid'>>): Map<string, string> =>
  new Map([...entries].filter(({ nid }) => nid !== null).map(({ uuid, key }) => [uuid, key]));

/** True where something of an item may be on the portal: a node, or one that an interrupted create may have left. */
export const mayHaveNode = (
  { nid, pending, uuid }: Pick<IndexedEntry, 'nid' | 'pending' | 'uuid'>,
  owners: ReturnType<typeof ownersOf>,
): boolean => nid !== null || (pending !== null && !owners.has(uuid));
