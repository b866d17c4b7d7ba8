// Step `fetch`: the bytes of a resource on this host, or the proof that none are needed.
import { SourceRefusedError } from '../../model/errors.ts';
import type { SourceFingerprint } from '../../model/ledger-entry.ts';
import { type ResourceSource, sourcePathOf } from '../../model/wish.ts';
import { fingerprintFile } from '../../sources/drop/fingerprint.ts';
import { shown } from '../../sources/fetch/failures.ts';
import { fetchedFileOf } from '../compare/local-file.ts';
import { withSource } from '../plan/known-wishes.ts';
import { isSent, wantsImport } from '../plan/plan.ts';
import { type ResourceState, sourceName, sourcePath } from './resource-state.ts';

type UrlSource = Extract<ResourceSource, { kind: 'url' }>;

/** Step `fetch`: sets `state.source`. Throws SourceRefusedError for a file that is too large. */
export const fetchSource = async (state: ResourceState): Promise<void> => {
  const { wish, deps } = state;
  if (wish.source.kind === 'url') await fetchAddress(state, wish.source);
  else state.source = await lookAtFile(state);
  const bytes = state.source?.bytes ?? 0;
  const limit = deps.settings.maxFileBytes;
  if (bytes <= limit) return;
  throw new SourceRefusedError(`${sourcePathOf(wish.source)} has ${bytes} bytes, more than the limit of ${limit}`, {
    hint: 'split the file, or raise limits.table in the configuration',
  });
};

const lookAtFile = (state: ResourceState): Promise<SourceFingerprint> =>
  state.target.item.step(
    { name: 'fetch', light: true, on: sourceName(state) },
    (signal) => fingerprintFile(sourcePath(state), state.seen, signal),
    ({ bytes, sha256 }) => `${bytes} bytes, sha256 ${sha256.slice(0, 12)}`,
  );

/**
 * Fetches the file of a resource unless the version that is published is still the present one and nothing has to be
 * done with its bytes; then `wish.source` stays an address. A fetched file takes its place in the wish, for this job on
 * this host only: another worker fetches it again. `isNeeded`: the bytes are asked for whatever is published.
 */
export const fetchAddress = async (state: ResourceState, source: UrlSource, isNeeded = false): Promise<void> => {
  const { deps, wish, entry } = state;
  const { item } = state.target;
  const where = shown(new URL(source.url));
  const published = isNeeded || needsBytes(state, source) ? null : entry.fetched;
  const got = await item.step(
    { name: 'fetch', light: true, on: where },
    (signal) =>
      deps.fetched.get(
        { portal: item.portal, uuid: wish.uuid, url: source.url, name: source.name, by: item.runId, published },
        // A line that cannot be kept is not worth a failure.
        { signal, tell: (line) => void item.note(line).catch(() => undefined) },
      ),
    (file) => (file === 'unchanged' ? 'unchanged' : `${file.bytes} bytes, sha256 ${file.sha256.slice(0, 12)}`),
  );
  if (got === 'unchanged') {
    state.source = entry.source;
    return;
  }
  const here = await fetchedFileOf(source, got);
  state.source = here.source;
  state.fetched = here.fetched;
  state.wish = withSource(wish, here.file);
};

/** Removes what was fetched for a resource, once it is published. */
export const forgetFetched = async ({ deps, target, wish, fetched }: ResourceState): Promise<void> => {
  if (fetched) await deps.fetched.remove({ portal: target.item.portal, uuid: wish.uuid });
};

/** False where the portal holds what the address gave last, complete and proven. */
const needsBytes = ({ entry, wish, intent, recreated }: ResourceState, { url }: UrlSource): boolean => {
  const { source, fetched, file, datastore, nid } = entry;
  if (recreated || nid === null || intent?.action === 'attach' || intent?.action === 'import') return true;
  if (source === null || fetched?.url !== url || (fetched.etag === null && fetched.lastModified === null)) return true;
  const isUnproven = wantsImport(wish) && (datastore === 'pending' || datastore === 'failed');
  return (
    isUnproven || (!isSent(file, source.sha256, wish) && (entry.refused === null || entry.refused.guard === 'released'))
  );
};
