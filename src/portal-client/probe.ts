// Probes a portal without writing anything.
import { paths } from '../dataset-api/paths.ts';
import { type ErrorCode, PortalError, SluiceError } from '../model/errors.ts';
import { isTabular } from '../model/recipe/recipe.ts';
import { parsedJson, recordOf } from '../util/json.ts';
import { hintFor, isAnswer } from './answers.ts';
import type { Datastore } from './datastore.ts';
import type { DialectChoice } from './dialect.ts';
import { isForbidden, type Nodes } from './nodes.ts';
import { fileOf, wrongShape } from './replies.ts';
import type { Identity, Session } from './session.ts';
import type { Dialect } from './settings.ts';
import type { Suggestions } from './suggestions.ts';
import type { termsOf } from './terms.ts';

/** One thing that was checked. `hint` says what to do and is null where all is well. */
type ProbeFinding = { ok: boolean | null; what: string; hint: string | null };

export interface PortalProbe {
  reachable: boolean;
  /** The address answers as this API. */
  api: boolean;
  login: { uid: string; name: string; roles: string[] } | { code: ErrorCode; message: string } | null;
  dialect: Dialect | null;
  datastore: boolean | null;
  search: boolean | null;
  /** Judged by the names of the account's roles. */
  mayCreate: boolean | null;
  ok: boolean;
  findings: ProbeFinding[];
}

interface Parts {
  session: Session;
  dialect: DialectChoice;
  datastore: Datastore;
  nodes: Pick<Nodes, 'list' | 'find'>;
  terms: ReturnType<typeof termsOf>;
  suggestions: Suggestions;
}

/** One step: notes in the probe what it found, and returns it for people. */
type Step = (parts: Parts, probe: PortalProbe, signal: AbortSignal) => Promise<ProbeFinding[]>;

/** Probes a portal step by step, up to the first that fails. Rejects only when `signal` is aborted. */
export const probePortal = async (parts: Parts, signal: AbortSignal): Promise<PortalProbe> => {
  const unknown = { login: null, dialect: null, datastore: null, search: null, mayCreate: null };
  const probe: PortalProbe = { reachable: false, api: false, ...unknown, ok: false, findings: [] };
  try {
    for (const step of [probeApi, probeLogin, probeDatastore, probeDialect, probeSearch, probeTerms]) {
      probe.findings.push(...(await step(parts, probe, signal)));
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof SluiceError)) throw error;
    probe.findings.push({ ok: false, what: error.message, hint: error.hint ?? null });
  }
  probe.ok = probe.findings.every((finding) => finding.ok !== false);
  return probe;
};

const fine = (what: string): ProbeFinding => ({ ok: true, what, hint: null });

type Told = Pick<ProbeFinding, 'what' | 'hint'>;

/** What is said of something that is so, is not so, or that nothing shows. */
const judged = (isSo: boolean | null, yes: string, no: Told, unknown: Told): ProbeFinding =>
  isSo ? fine(yes) : { ok: isSo, ...(isSo === null ? unknown : no) };

const anyNode = `${paths.nodes}?fields=nid&pagesize=1`;

const probeApi: Step = async ({ session: { http, portal } }, probe, signal) => {
  try {
    const reply = await http.exchange({ method: 'GET', path: anyNode }, signal);
    probe.reachable = true;
    probe.api = Array.isArray(parsedJson(reply.text));
    // Some portals show nothing to strangers; the login shows whether it is this API.
    if (!probe.api && reply.status < 400) throw wrongShape(reply, portal, 'a list of nodes');
    return [fine(`${portal.url} answers`)];
  } catch (error) {
    probe.reachable ||= error instanceof PortalError && error.request.status !== undefined;
    throw error;
  }
};

const probeLogin: Step = async ({ session }, probe, signal) => {
  try {
    const identity = await session.login(signal);
    const { uid, name } = identity;
    // A token is judged with the first request that bears it.
    if (uid === '') await session.call({ action: 'list nodes', method: 'GET', path: anyNode }, signal);
    const roles = Object.values(identity.roles);
    probe.api = true;
    probe.login = { uid, name, roles };
    probe.mayCreate = mayCreate(probe.login);
    const who = `logged in as ${name} (uid ${uid}, ${roles.join(', ') || 'roles unknown'})`;
    return [fine(uid === '' ? 'the token is accepted' : who), rightsOf(probe.mayCreate)];
  } catch (error) {
    if (error instanceof PortalError) probe.login = { code: error.code, message: error.message };
    throw error;
  }
};

const probeDatastore: Step = async (parts, probe, signal) => {
  probe.datastore = await parts.datastore.isOffered(signal);
  return probe.datastore
    ? [importsOf(await mayImport(parts, probe, signal))]
    : [fine('no datastore endpoints: files are attached; importing them is up to the portal')];
};

const importsOf = (mayImport: boolean | null): ProbeFinding =>
  judged(
    mayImport,
    'tables can be imported into the datastore',
    { what: 'the account may not import tables into the datastore', hint: hintFor('datastore-denied') },
    {
      what: 'the account has no table here that shows whether it may import into the datastore (*manage datastore*)',
      hint: 'publish one small table to find out',
    },
  );

/** Own resources that are read to find one with a table. */
const mostRead = 5;

/** Whether the account may use datastores, by that of a table of its own; user 1 may everything. Null where it has none. */
const mayImport = async ({ nodes, datastore }: Parts, { login }: PortalProbe, signal: AbortSignal) => {
  const uid = login && 'uid' in login ? login.uid : '';
  if (uid === '' || uid === '1') return uid === '1' ? true : null;
  const orderBy = { column: 'nid', direction: 'DESC' } as const;
  const query = { fields: ['nid'], parameters: { type: 'resource', uid }, pageSize: mostRead, orderBy };
  for (const { nid } of await nodes.list(query, signal)) {
    const node = await nodes.find(nid, signal);
    if (node === null || !isTabular(fileOf(node)?.filename ?? '')) continue;
    try {
      await datastore.status(nid, signal);
      return true;
    } catch (error) {
      if (isForbidden(error)) return false;
      throw error;
    }
  }
  return null;
};

const probeDialect: Step = async ({ dialect }, probe, signal) => {
  probe.dialect = await dialect.current(signal);
  return [fine(`takes fields in the form \`${probe.dialect}\``)];
};

const nobody = '00000000-0000-4000-8000-000000000000';

const probeSearch: Step = async ({ session }, probe, signal) => {
  const path = `${paths.datastoreSearch}?resource_id=${nobody}&limit=1`;
  try {
    const reply = await session.http.exchange({ method: 'GET', path, retries: 0 }, signal);
    const value = recordOf(parsedJson(reply.text));
    probe.search = ['result', 'error', 'success', 'sql'].some((key) => key in value);
  } catch (error) {
    // Releases without a datastore answer this to every search; elsewhere no table could be shown to be live.
    if (probe.datastore || !isAnswer(error, 'search-broken')) throw error;
    probe.search = false;
  }
  const none = { what: 'imported rows cannot be counted here', hint: 'imports are judged by their status alone' };
  return [probe.search ? fine('imported rows can be counted') : { ok: null, ...none }];
};

/** Into which vocabularies new terms would go, and whether terms that exist are found. */
const probeTerms: Step = async ({ terms, suggestions }, { dialect }, signal) => {
  const isAsked = (await suggestions.termsNamed('tags', 'sluice', signal)) !== null;
  const unasked = {
    ok: true,
    what: 'terms cannot be looked up by name; new names are created',
    hint: 'set those that the portal has by number: `terms: {topics: …, tags: …}` of this portal',
  };
  const shown = (['format', 'tags', 'dkan_topics'] as const).map((name) => `${name} ${terms.vocabularyId(name)}`);
  return [
    isAsked ? fine('tags, formats and topics are looked up by name') : unasked,
    ...(dialect === 'form' ? [] : [fine(`vocabularies: ${shown.join(', ')}`)]),
  ];
};

const creators = new Set(['administrator', 'site manager', 'editor', 'content creator']);
const everybody = new Set(['authenticated user', 'anonymous user']);

/** User 1 may do everything; otherwise the default matrix of roles decides (recorded behaviour 14), null for unknown roles. */
const mayCreate = ({ uid, roles }: Pick<Identity, 'uid'> & { roles: string[] }): boolean | null => {
  if (uid === '1' || roles.some((role) => creators.has(role.toLowerCase()))) return true;
  return roles.length > 0 && roles.every((role) => everybody.has(role.toLowerCase())) ? false : null;
};

const rightsOf = (mayCreate: boolean | null): ProbeFinding =>
  judged(
    mayCreate,
    'the account may create datasets and resources',
    { what: 'the account has no role that may create datasets', hint: 'give it the role content creator or higher' },
    {
      what: 'the roles do not show whether the account may create datasets',
      hint: 'publish one small dataset to find out',
    },
  );
