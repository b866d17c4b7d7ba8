// The client of one portal: every call of the Dataset REST API that sluice makes.
import { createHash } from 'node:crypto';
import { paths } from '../dataset-api/paths.ts';
import { PortalConflictError } from '../model/errors.ts';
import { datastoreOf } from './datastore.ts';
import { dialectChoice } from './dialect.ts';
import { filePath, fileSender } from './files.ts';
import type { FileReply, Http } from './http.ts';
import { draftFinder, groupResolver, uuidLookup } from './lookup.ts';
import { type NodeInput, Nodes } from './nodes.ts';
import { type PortalProbe, probePortal } from './probe.ts';
import { Caller, Session, type WriteLease } from './session.ts';
import { type Dialect, type PortalHooks, type PortalSettings, type TermStore, traitsOf } from './settings.ts';
import { suggestionsOf } from './suggestions.ts';
import { termsOf } from './terms.ts';

export { isAnswer } from './answers.ts';
export type { PortalTable } from './datastore.ts';
export { filePath } from './files.ts';
export type { FileReply } from './http.ts';
export { isForbidden, type NodeChanges } from './nodes.ts';
export type { PortalProbe } from './probe.ts';
export type { NodeRow, PortalNode } from './replies.ts';
export { type Dialect, type PortalHooks, type RequestKind, traitsSchema } from './settings.ts';

const memoryTerms = (): TermStore => {
  const known: Record<string, string> = {};
  return { read: async () => ({ ...known }), write: async (terms) => void Object.assign(known, terms) };
};

const sharedParts = (settings: PortalSettings, hooks: PortalHooks) => {
  const session = new Session(settings, hooks);
  const traits = traitsOf(hooks.traits ?? {}, (known) => hooks.onTraits?.(known));
  const caller = new Caller(session, null);
  const datastore = datastoreOf(caller, traits, 0);
  const dialect = dialectChoice({ set: settings.dialect, traits, caller, datastore });
  const nodes = new Nodes(caller, dialect);
  const suggestions = suggestionsOf(caller, traits);
  return {
    session,
    settings,
    traits,
    dialect,
    suggestions,
    lookup: uuidLookup((query, signal) => nodes.list(query, signal), session.signal),
    terms: termsOf(hooks.terms ?? memoryTerms(), settings.terms, traits, suggestions),
    resolveGroups: groupResolver(settings.name, nodes, session.signal),
    drafts: draftFinder(session, nodes, suggestions),
  };
};

type Shared = ReturnType<typeof sharedParts>;

const viewOf = (shared: Shared, lease: WriteLease | null) => {
  const { settings, dialect, lookup, ...open } = shared;
  const { session, traits, drafts } = open;
  const { timeouts } = settings;
  const caller = new Caller(session, lease);
  const nodes = new Nodes(caller, dialect);
  const datastore = datastoreOf(caller, traits, timeouts.importMs ?? timeouts.uploadMs);
  return {
    ...open,
    name: settings.name,
    url: session.portal.url,
    datastore,
    attach: fileSender(caller, traits, timeouts),

    /** `createNode` looks before it repeats. */
    nodes,

    /** True where nobody logs in, so that only what the public may read is seen. */
    isAnonymous: settings.isAnonymous === true,

    /** What `check --portal` reports: reachable, this API, login, rights, dialect, datastore. Reads only, never rejects. */
    probe: (signal: AbortSignal): Promise<PortalProbe> => probePortal({ ...shared, datastore, nodes }, signal),

    /** The dialect writes are made in; found by at most two reads the first time. */
    dialectInUse: (signal: AbortSignal): Promise<Dialect> => dialect.current(signal),

    /** Creates a node; looks its uuid up before the POST is repeated. @throws PortalConflictError where that is taken */
    createNode(input: NodeInput, signal: AbortSignal): Promise<{ nid: string }> {
      return nodes.create(input, signal, async () => {
        const row = await lookup.find(input.uuid, signal);
        if (row === null) return;
        throw new PortalConflictError(
          `portal ${settings.name}: node ${row.nid} already has the uuid ${input.uuid}`,
          { method: 'POST', path: paths.nodes, nid: row.nid, mayHaveHappened: false },
          { hint: 'the next attempt adopts the node' },
        );
      });
    },

    /** The listed node with that uuid, or null; calls within a few milliseconds share one list request (up to 20 uuids). */
    findByUuid: lookup.find,

    /** Uuids that are looked up soon (`recent`): they go along with the requests for others. */
    expectNodes: lookup.expect,

    /** Ids of the nodes of a type with that title, also of drafts that lists hide from this account. */
    async nidsTitled(type: string, title: string, signal: AbortSignal): Promise<string[]> {
      const rows = await nodes.titled(type, title, signal);
      const hidden = (await drafts.titled(type, title, signal)).nodes;
      const own = hidden.filter((node) => node.type === type && node.title === title);
      return [...new Set([...rows, ...own].map(({ nid }) => nid))];
    },

    /** True where the list of a dataset's resources is written with the dataset, and the portal sets the other side. */
    async linksByList(signal: AbortSignal): Promise<boolean> {
      return (await this.dialectInUse(signal)) === 'entity' && traits.get('linksByList') !== false;
    },

    /** Address of a file by its `uri`; null where the portal serves none under it. */
    fileUrl(uri: string): string | null {
      const path = filePath(uri);
      return path === null ? null : `${session.portal.url}${path}`;
    },

    /** sha256 (hex) of a file by its `uri` (`public://…`, `private://…`), as this account is served it; null when it is not. */
    async fileHash(uri: string, signal: AbortSignal): Promise<string | null> {
      const path = filePath(uri);
      return path === null ? null : session.file(path, hashOf, signal);
    },

    /** A file by its path below the portal's address, streamed, as this account is served it. See `Http.file`. */
    file<T>(path: string, take: (reply: FileReply) => Promise<T>, signal: AbortSignal): Promise<T> {
      return session.file(path, take, signal);
    },

    /** How long it has owed every reply that this process waits for; null while it owes none. */
    silence: (): Http['silence']['state'] => session.http.silence.state,

    /** Logs out and closes the connections; what is in flight is given two seconds. Idempotent. */
    close: (): Promise<void> => session.close(),
  };
};

/**
 * One portal and one session with it. Every call logs in when needed and rejects with one of the `Portal…Error`s, or with
 * the signal's reason. After a refused login every call fails at once, without a request, until `session.login`.
 */
export type Portal = ReturnType<typeof viewOf> & {
  /** The same portal for one job: writes are sent only while the lease is valid. */
  forJob(lease: WriteLease | null): Portal;
};

const portalOf = (shared: Shared, lease: WriteLease | null): Portal => ({
  ...viewOf(shared, lease),
  forJob: (own) => portalOf(shared, own),
});

export const Portal = {
  /** Opens the client of a portal. Nothing is sent before the first call. @throws TypeError when `url` is no URL. */
  open: (settings: PortalSettings, hooks: PortalHooks): Portal => portalOf(sharedParts(settings, hooks), null),
};

const hashOf = async ({ status, body }: FileReply): Promise<string | null> => {
  if (status !== 200) return null;
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
};
