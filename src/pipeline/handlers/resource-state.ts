// The state that the steps of a resource share, and the file that they send.
import type { FetchedFrom, Intent, LedgerEntry, SourceFingerprint } from '../../model/ledger-entry.ts';
import { isTabular } from '../../model/recipe/recipe.ts';
import type { ResourceWish } from '../../model/wish.ts';
import type { PortalNode } from '../../portal-client/client.ts';
import type { SoundTable } from '../../tables/check.ts';
import type { PreparedFile, SentFile } from '../compare/local-file.ts';
import { wantsImport } from '../plan/known-wish.ts';
import type { HandlerDeps } from './deps.ts';
import type { NodeTarget } from './node-locate.ts';

/** What the steps of one attempt share. */
export interface ResourceState {
  readonly deps: HandlerDeps;
  /** Where its node is written, in the name of which item. */
  readonly target: NodeTarget;
  /** Node of the dataset where references are written from the resource's side; null where the dataset lists its resources. */
  readonly datasetNid: string | null;
  /** True: its table is proven in this attempt. False: that is left to the job that proves many tables together. */
  readonly provesNow: boolean;
  /** Once its file is fetched, `source` is that file on this host. */
  wish: ResourceWish;
  /** The file as the run saw it, to spare the hash. */
  readonly seen: SourceFingerprint | null;
  entry: LedgerEntry;
  intent: Intent | null;
  /** The node as it was read last in this attempt; null after a write. */
  node: PortalNode | null;
  /** Set by `fetch`. */
  source: SourceFingerprint | null;
  /** Set by `prepare`, for wishes with a recipe. */
  prepared: PreparedFile | null;
  /** Set by `fetch` where the file came from the web; null where the published version is the present one. */
  fetched: FetchedFrom | null;
  /** Set by `check`. */
  table: SoundTable | null;
  /** True once the node was recreated in this attempt. */
  recreated: boolean;
  /** True while the previous good file takes the place of one that the portal could not import. */
  readonly fallsBack: boolean;
}

/** One step: whether the wish needs it, and what it does. */
export interface ResourceStep {
  name: 'fetch' | 'prepare' | 'check' | 'guard' | 'node' | 'attach' | 'import' | 'verify' | 'ledger';
  applies(state: ResourceState): boolean;
  run(state: ResourceState): Promise<void>;
}

/** False for links, and for an address that still gives the version which is published and proven. */
export const isHere = ({ wish }: Pick<ResourceState, 'wish'>): boolean => wish.source.kind === 'file';

/** Where the source of a resource lies on this host; empty for links. */
export const sourcePath = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.path : '');

/** Name of the source; empty for links. */
export const sourceName = ({ wish }: ResourceState): string => (wish.source.kind === 'file' ? wish.source.name : '');

/** What is sent; null before it is there, for links, and where the present version was not fetched again. */
export const sentFile = ({ wish, source, prepared }: ResourceState): SentFile | null => {
  if (prepared) return prepared;
  return source && wish.source.kind === 'file' ? { path: wish.source.path, name: wish.source.name, source } : null;
};

/** True when rows are to be imported: an archive or JSON file that holds no table goes as it is, without rows. */
export const importsRows = ({ wish, prepared }: Pick<ResourceState, 'wish' | 'prepared'>): boolean =>
  isHere({ wish }) && wantsImport(wish) && (prepared === null || isTabular(prepared.name));
