// Probes a portal without writing anything.
import { paths } from '../dataset-api/paths.ts';
import { type ErrorCode, PortalError, SluiceError } from '../model/errors.ts';
import { isTabular } from '../model/recipe/recipe.ts';
import { parsedJson } from '../util/json.ts';
import { hintFor, isAnswer } from './answers.ts';
import { wrongShape } from './classify.ts';
import type { Datastore } from './datastore.ts';
import type { DialectChoice } from './dialect.ts';
import type { Identity } from './login.ts';
import { isForbidden, type Nodes } from './nodes.ts';
import { fileOf } from './replies.ts';
import type { Session } from './session.ts';
import type { Suggestions } from './suggestions.ts';
import type { Terms } from './terms.ts';
import type { Dialect } from './traits.ts';

/** One thing that was checked. `hint` says what to do and is null where all is well. */
export interface ProbeFinding {
  /** Null where unknown. */
  ok: boolean | null;
  what: string;
  hint: string | null;
}

/** What a probe found; null where unknown. */
export interface PortalProbe {
  reachable: boolean;
  /** The address answers as this API. */
  api: boolean;
  login: { uid: string; name: string; roles: string[] } | { code: ErrorCode; message: string } | null;
  dialect: Dialect | null;
  datastore: boolean | null;
  /** Rows can be counted. */
  search: boolean | null;
  /** Judged by the names of the account's roles. */
  mayCreate: boolean | null;
  /** Nothing was found wrong. */
  ok: boolean;
  findings: ProbeFinding[];
}

interface Parts {
  session: Session;
  dialect: DialectChoice;
  datastore: Datastore;
  nodes: Pick<Nodes, 'list' | 'find'>;
  terms: Terms;
  suggestions: Suggestions;
}

/** Probes a portal step by step, up to the first that fails. Rejects only when `signal` is aborted. */
export const probePortal = async (parts: Parts, signal: AbortSignal): Promise<PortalProbe> => {
  const probe: PortalProbe = {
    reachable: false,
    api: false,
    login: null,
    dialect: null,
    datastore: null,
    search: null,
    mayCreate: null,
    ok: false,
    findings: [],
  };
  for (const step of [probeApi, probeLogin, probeDatastore, probeDialect, probeSearch, probeTerms]) {
    if (!(await attempt(() => step(parts, probe, signal), probe, signal))) break;
  }
  probe.ok = probe.findings.every((finding) => finding.ok !== false);
  return probe;
};

const attempt = async (step: () => Promise<void>, probe: PortalProbe, signal: AbortSignal): Promise<boolean> => {
  try {
    await step();
    return true;
  } catch (error) {
    if (signal.aborted || !(error instanceof SluiceError)) throw error;
    probe.findings.push({ ok: false, what: error.message, hint: error.hint ?? null });
    return false;
  }
};

const probeApi = async ({ session }: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  const { url } = session.http;
  try {
    const reply = await session.http.exchange({ method: 'GET', path: `${paths.nodes}?fields=nid&pagesize=1` }, signal);
    probe.reachable = true;
    probe.api = Array.isArray(parsedJson(reply.text));
    probe.findings.push({ ok: true, what: `${url} answers`, hint: null });
    // Some portals show nothing to strangers; the login shows whether it is this API.
    if (!probe.api && reply.status < 400) throw wrongShape(reply, session.portal, 'a list of nodes');
  } catch (error) {
    probe.reachable ||= error instanceof PortalError && error.request.status !== undefined;
    throw error;
  }
};

const probeLogin = async ({ session }: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  try {
    const { uid, name, roles } = await session.login(signal);
    // A token is judged with the first request that bears it.
    if (uid === '')
      await session.call({ action: 'list nodes', method: 'GET', path: `${paths.nodes}?fields=nid&pagesize=1` }, signal);
    probe.api = true;
    probe.login = { uid, name, roles: Object.values(roles) };
    probe.mayCreate = mayCreate(probe.login);
    probe.findings.push({
      ok: true,
      what:
        uid === ''
          ? 'the token is accepted'
          : `logged in as ${name} (uid ${uid}, ${probe.login.roles.join(', ') || 'roles unknown'})`,
      hint: null,
    });
    probe.findings.push(rightsFinding(probe.mayCreate));
  } catch (error) {
    if (error instanceof PortalError) probe.login = { code: error.code, message: error.message };
    throw error;
  }
};

const probeDatastore = async (parts: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  probe.datastore = await parts.datastore.isOffered(signal);
  const [ok, what, hint] = probe.datastore
    ? importFindings[String(await mayImport(parts, probe, signal)) as keyof typeof importFindings]
    : ([true, 'no datastore endpoints: files are attached; importing them is up to the portal', null] as const);
  probe.findings.push({ ok, what, hint });
};

const importFindings = {
  true: [true, 'tables can be imported into the datastore', null],
  false: [false, 'the account may not import tables into the datastore', hintFor('datastore-denied')],
  null: [
    null,
    'the account has no table here that shows whether it may import into the datastore (*manage datastore*)',
    'publish one small table to find out',
  ],
} as const;

/** Own resources that are read to find one with a table. */
const mostRead = 5;

/** Whether the account may use datastores, by that of a table of its own; user 1 may everything. Null where it has none. */
const mayImport = async (
  { nodes, datastore }: Parts,
  { login }: PortalProbe,
  signal: AbortSignal,
): Promise<boolean | null> => {
  const uid = login && 'uid' in login ? login.uid : '';
  if (uid === '' || uid === '1') return uid === '1' ? true : null;
  const query = { fields: ['nid'], parameters: { type: 'resource', uid }, pageSize: mostRead, orderBy: newest };
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

const newest = { column: 'nid', direction: 'DESC' } as const;

const probeDialect = async ({ dialect }: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  probe.dialect = await dialect.current(signal);
  probe.findings.push({ ok: true, what: `dialect: ${probe.dialect}`, hint: null });
};

/** A uuid that no resource has. */
const nobody = '00000000-0000-4000-8000-000000000000';

const probeSearch = async ({ session }: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  const path = `${paths.datastoreSearch}?resource_id=${nobody}&limit=1`;
  try {
    const reply = await session.http.exchange({ method: 'GET', path, retries: 0 }, signal);
    const value = parsedJson(reply.text);
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
    probe.search = ['result', 'error', 'success', 'sql'].some((key) => keys.includes(key));
  } catch (error) {
    // Releases with a broken search module answer this to every search.
    if (!isAnswer(error, 'search-broken')) throw error;
    probe.search = false;
  }
  probe.findings.push(
    probe.search
      ? { ok: true, what: 'imported rows can be counted', hint: null }
      : { ok: null, what: 'imported rows cannot be counted here', hint: 'imports are judged by their status alone' },
  );
};

/** Into which vocabularies new terms would go, and whether terms that exist are found. */
const probeTerms = async ({ terms, suggestions }: Parts, probe: PortalProbe, signal: AbortSignal): Promise<void> => {
  const isAsked = (await suggestions.termsNamed('tags', 'sluice', signal)) !== null;
  const missing = 'set those that the portal has by number: `terms: {topics: …, tags: …}` of this portal';
  probe.findings.push(
    isAsked
      ? { ok: true, what: 'tags, formats and topics are looked up by name', hint: null }
      : { ok: true, what: 'terms cannot be looked up by name; new names are created', hint: missing },
  );
  if (probe.dialect === 'form') return;
  const shown = (['format', 'tags', 'dkan_topics'] as const).map(
    (vocabulary) => `${vocabulary} ${terms.vocabularyId(vocabulary)}`,
  );
  probe.findings.push({ ok: true, what: `vocabularies: ${shown.join(', ')}`, hint: null });
};

const creators = new Set(['administrator', 'site manager', 'editor', 'content creator']);
const everybody = new Set(['authenticated user', 'anonymous user']);

/** User 1 may do everything; otherwise the default matrix of roles decides (recorded behaviour 14), null for unknown roles. */
const mayCreate = ({ uid, roles }: Pick<Identity, 'uid'> & { roles: string[] }): boolean | null => {
  if (uid === '1' || roles.some((role) => creators.has(role.toLowerCase()))) return true;
  return roles.length > 0 && roles.every((role) => everybody.has(role.toLowerCase())) ? false : null;
};

const rightsFinding = (may: boolean | null): ProbeFinding => {
  if (may === true) return { ok: true, what: 'the account may create datasets and resources', hint: null };
  return may === false
    ? {
        ok: false,
        what: 'the account has no role that may create datasets',
        hint: 'give it the role content creator or higher',
      }
    : {
        ok: null,
        what: 'the roles do not show whether the account may create datasets',
        hint: 'publish one small dataset to find out',
      };
};
