// The client of one portal: every call of the Dataset REST API that sluice makes.
import { createHash } from 'node:crypto';
import { paths } from '../dataset-api/paths.ts';
import { PortalConflictError } from '../model/errors.ts';
import { type Datastore, datastoreOf } from './datastore.ts';
import { DialectChoice } from './dialect.ts';
import { filePath, fileSender } from './files.ts';
import type { FileReply, Http } from './http.ts';
import { draftFinder, groupResolver, uuidLookup } from './lookup.ts';
import { type NodeInput, Nodes } from './nodes.ts';
import { type PortalProbe, probePortal } from './probe.ts';
import type { NodeRow } from './replies.ts';
import { Caller, Session, type WriteLease } from './session.ts';
import { type Dialect, type PortalHooks, type PortalSettings, type TermStore, Traits } from './settings.ts';
import { type Suggestions, suggestionsOf } from './suggestions.ts';
import { type Terms, termsOf } from './terms.ts';

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

/** What every view of one portal shares. */
const sharedParts = (settings: PortalSettings, hooks: PortalHooks) => {
  const session = new Session(settings, hooks);
  const traits = new Traits(hooks.traits ?? {}, (known) => hooks.onTraits?.(known));
  const caller = new Caller(session, null);
  const datastore = datastoreOf(caller, traits, 0);
  const dialect = new DialectChoice({ set: settings.dialect, traits, caller, datastore });
  const nodes = new Nodes(caller, dialect);
  const suggestions = suggestionsOf(caller, traits);
  return {
    ...{ session, settings, traits, dialect, suggestions },
    lookup: uuidLookup((query, signal) => nodes.list(query, signal), session.signal),
    terms: termsOf(hooks.terms ?? memoryTerms(), settings.terms, traits, suggestions),
    resolveGroups: groupResolver(settings.name, nodes, session.signal),
    drafts: draftFinder(session, nodes, suggestions),
  };
};

/**
 * One portal and one session with it. Every call logs in when needed and rejects with one of the `Portal…Error`s, or with
 * the signal's reason. After a refused login every call fails at once, without a request, until `session.login`.
 */
export class Portal {
  readonly name: string;
  readonly url: string;
  /** True where nobody logs in, so that only what the public may read is seen. */
  readonly isAnonymous: boolean;
  readonly traits: Traits;
  readonly terms: Terms;
  readonly resolveGroups: ReturnType<typeof groupResolver>;
  readonly suggestions: Suggestions;
  readonly session: Session;
  readonly drafts: ReturnType<typeof draftFinder>;
  /** {@link createNode} looks before it repeats. */
  readonly nodes: Nodes;
  readonly attach: ReturnType<typeof fileSender>;
  readonly datastore: Datastore;
  readonly #shared: ReturnType<typeof sharedParts>;

  private constructor(shared: ReturnType<typeof sharedParts>, lease: WriteLease | null) {
    const { session, settings, traits } = shared;
    const { timeouts } = settings;
    const caller = new Caller(session, lease);
    this.#shared = shared;
    this.name = settings.name;
    this.url = session.portal.url;
    this.isAnonymous = settings.isAnonymous === true;
    this.traits = traits;
    this.terms = shared.terms;
    this.resolveGroups = shared.resolveGroups;
    this.suggestions = shared.suggestions;
    this.session = session;
    this.drafts = shared.drafts;
    this.nodes = new Nodes(caller, shared.dialect);
    this.attach = fileSender(caller, traits, timeouts);
    this.datastore = datastoreOf(caller, traits, timeouts.importMs ?? timeouts.uploadMs);
  }

  /** Opens the client of a portal. Nothing is sent before the first call. @throws TypeError when `url` is no URL. */
  static open(settings: PortalSettings, hooks: PortalHooks): Portal {
    return new Portal(sharedParts(settings, hooks), null);
  }

  /** The same portal for one job: writes are sent only while the lease is valid. */
  forJob(lease: WriteLease | null): Portal {
    return new Portal(this.#shared, lease);
  }

  /** What `check --portal` reports: reachable, this API, login, rights, dialect, datastore. Reads only, never rejects. */
  probe(signal: AbortSignal): Promise<PortalProbe> {
    return probePortal({ ...this.#shared, datastore: this.datastore, nodes: this.nodes }, signal);
  }

  /** The dialect writes are made in; found by at most two reads the first time. */
  dialectInUse(signal: AbortSignal): Promise<Dialect> {
    return this.#shared.dialect.current(signal);
  }

  /** Creates a node; looks its uuid up before the POST is repeated. @throws PortalConflictError where that is taken */
  createNode(input: NodeInput, signal: AbortSignal): Promise<{ nid: string }> {
    return this.nodes.create(input, signal, async () => {
      const row = await this.#shared.lookup.find(input.uuid, signal);
      if (row === null) return;
      throw new PortalConflictError(
        `portal ${this.name}: node ${row.nid} already has the uuid ${input.uuid}`,
        { method: 'POST', path: paths.nodes, nid: row.nid, mayHaveHappened: false },
        { hint: 'the next attempt adopts the node' },
      );
    });
  }

  /** The listed node with that uuid, or null; calls within a few milliseconds share one list request (up to 20 uuids). */
  findByUuid(uuid: string, signal: AbortSignal, options: { recent?: boolean } = {}): Promise<NodeRow | null> {
    return this.#shared.lookup.find(uuid, signal, options);
  }

  /** Uuids that are looked up soon (`recent`): they go along with the requests for others. */
  expectNodes(uuids: readonly string[]): void {
    this.#shared.lookup.expect(uuids);
  }

  /** Ids of the nodes of a type with that title, also of drafts that lists hide from this account. */
  async nidsTitled(type: string, title: string, signal: AbortSignal): Promise<string[]> {
    const rows = await this.nodes.titled(type, title, signal);
    const { nodes } = await this.drafts.titled(type, title, signal);
    const drafts = nodes.filter((node) => node.type === type && node.title === title);
    return [...new Set([...rows, ...drafts].map(({ nid }) => nid))];
  }

  /** True where the list of a dataset's resources is written with the dataset, and the portal sets the other side. */
  async linksByList(signal: AbortSignal): Promise<boolean> {
    return (await this.dialectInUse(signal)) === 'entity' && this.traits.get('linksByList') !== false;
  }

  /** The highest listed node id, "0" on an empty portal. */
  async highestNid(signal: AbortSignal): Promise<string> {
    const orderBy = { column: 'nid', direction: 'DESC' } as const;
    const [row] = await this.nodes.list({ fields: ['nid'], pageSize: 1, orderBy }, signal);
    return row?.nid ?? '0';
  }

  /** Address of a file by its `uri`; null where the portal serves none under it. */
  fileUrl(uri: string): string | null {
    const path = filePath(uri);
    return path === null ? null : `${this.url}${path}`;
  }

  /** sha256 (hex) of a file by its `uri` (`public://…`, `private://…`), as this account is served it; null when it is not. */
  async fileHash(uri: string, signal: AbortSignal): Promise<string | null> {
    const path = filePath(uri);
    if (path === null) return null;
    return this.file(
      path,
      async ({ status, body }) => {
        if (status !== 200) return null;
        const hash = createHash('sha256');
        for await (const chunk of body) hash.update(chunk);
        return hash.digest('hex');
      },
      signal,
    );
  }

  /** A file by its path below the portal's address, streamed, as this account is served it. See `Http.file`. */
  file<T>(path: string, take: (reply: FileReply) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.session.file(path, take, signal);
  }

  /** How long it has owed every reply that this process waits for; null while it owes none. */
  get silence(): Http['silence']['state'] {
    return this.session.http.silence.state;
  }

  /** Logs out and closes the connections; what is in flight is given two seconds. Idempotent. */
  close(): Promise<void> {
    return this.session.close();
  }
}
