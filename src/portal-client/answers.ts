// The answers of portals, one row per situation: how it is recognized, whose fault it is, and what follows; what it means is on
// its page, `docs/reference/portal-answers.md`.
// Callers ask a caught error for its situation (`isAnswer(error, 'node-gone', 'denied')`) or `fault`, never for statuses or words;
// `situationOf(reply, portal)` is for replies of status 2xx that are no answer, such as those of the search.
// A new situation is a row here, an exchange in test/portal-client/support/exchanges.ts, and after `node scripts/reference.ts`
// its meaning on the page. Rows are tried in their order, and the first that fits is the situation.
import { extensionOf, usualExtensions } from '../dataset-api/file-types.ts';
import { paths } from '../dataset-api/paths.ts';
import * as errors from '../model/errors.ts';
import { parsedJson } from '../util/json.ts';
import { allWordsOf, formErrorFields, isHtmlPage, type Redact, type TextReply } from './reply-text.ts';

/** A complete reply of the portal, whatever its status. */
export type Reply = TextReply & { method: string; path: string };

export interface PortalFacts {
  name: string;
  url: string;
  /** True once a login succeeded: the address is known to be this API, so odd replies are failures of it. */
  proven: boolean;
  /** Name of the user in whose session the request was sent; null without one. */
  user: string | null;
  worked?: boolean;
  isLoggedOut?: boolean;
  upload?: string | undefined;
  redact: Redact;
}

type Target = 'login' | 'logout' | 'node' | 'attach' | 'import' | 'datastore' | 'search' | 'other';

export type Outcome = keyof typeof outcomes;

/** What follows from answers: the class of the error, and how the documentation says it. */
export const outcomes = {
  session: [errors.PortalSessionError, 'tries again later, within `retry.attempts`'],
  repeat: [errors.PortalBusyError, 'repeats the request soon'],
  retry: [errors.PortalUnreachableError, 'tries again later, within `retry.attempts`; never pauses the portal'],
  wait: [errors.PortalUnreachableError, 'tries again later; pauses the portal if a plain read fails too'],
  look: [
    errors.PortalReplyError,
    'tries again later, after a look whether a write took effect; pauses the portal if a plain read fails too',
  ],
  fail: [errors.PortalRefusedError, 'fails the item'],
  file: [errors.PortalRefusedError, 'fails the file; the last good one stays or is restored'],
  recreate: [errors.PortalGoneError, 'creates the node again, or takes it for removed'],
  adopt: [errors.PortalConflictError, 'looks at the node that has the UUID'],
  without: [errors.PortalRefusedError, 'goes on without that part of the API'],
  pause: [errors.PortalLoginError, 'pauses the portal until somebody corrects it'],
  stop: [errors.PortalNotApiError, 'stops'],
} as const;

interface Row {
  /** What is requested; anything where absent. */
  on?: readonly Target[];
  /** Statuses, and first digits of classes of them. */
  status?: readonly number[];
  /** One of these texts is among the portal's words, in any case; USER stands for the account. */
  says?: readonly string[];
  /** What else must hold, all of it. */
  when?: readonly (keyof typeof conditions)[];
  fault: errors.Fault;
  /** True where the session is over: the portal is logged in to again and the request repeated before the outcome. */
  logsIn?: true;
  outcome: Outcome;
  /** What to do now; that of its outcome where absent. LOCATION stands for where the reply redirects. */
  hint?: string;
  /** Milliseconds to wait, where the portal names no time. */
  waitMs?: number;
  /** True where a write has certainly not taken effect, although its status leaves that open. */
  isUndone?: true;
}

/** What the rows ask beyond status and words, by how the documentation says it. */
const conditions = {
  'an HTML page': ({ text }) => isHtmlPage(text),
  'no message': ({ text }, _portal, words) =>
    isHtmlPage(text) || /^(?:internal server error)?(?: ?:? ?an error occurred\.?)?$/i.test(words()),
  'an HTML page or `Could not find …`': ({ text }, _portal, words) =>
    isHtmlPage(text) || /could not find (?:resource|the controller)/.test(words()),
  '`form_errors`': ({ text }) => formErrorFields(text).length > 0,
  'to a read': ({ method }) => method === 'GET',
  'in a session': (_reply, { user }) => user !== null,
  'to what worked before': (_reply, { worked }) => worked === true,
  'before the first login': (_reply, { proven }) => !proven,
  "to the portal's front page": (reply, { url }) => isFrontPage(targetOf(reply, url), url),
  'to another address': (reply, { url }) => ![undefined, url + reply.path].includes(targetOf(reply, url)?.href),
  'with the session cookie deleted': (_reply, { isLoggedOut }) => isLoggedOut === true,
  // A name that begins with its dot has no ending.
  'for a name that portals accept': (_reply, { upload = '' }) => usualExtensions.includes(extensionOf(upload.slice(1))),
  'naming the node': (reply) => namesNode(reply),
} as const satisfies Record<string, (reply: Reply, portal: PortalFacts, words: () => string) => boolean>;

const usualHints: Partial<Record<Outcome, string>> = {
  session:
    'check that cookies and the X-CSRF-Token header pass any proxy before the portal: it did not accept a fresh session',
  wait: "the portal has an internal error; sluice retries, and the portal's error log has details",
  fail: "fix what the portal's message names, then publish again",
  file: 'fix the file; `sluice check` on it names what portals cannot import',
  pause:
    'check username and password of this portal in the configuration, then start again; nothing more is sent until then',
  stop: "check the portal's url: it must be the site's address (with its base path, if any) whose /api/dataset answers",
};

const rights =
  'give the account a role that may do this (content creator or higher, and its own content), or use another account';
const keptAway = `the portal names no reason: a firewall or proxy before it may refuse this; if there is none, ${rights}`;
const limits = 'ask its administrator to raise the limit, or split the file; then `sluice retry`';

const on = (targets: readonly Target[], ...status: number[]) => ({ on: targets, status });
const of = (fault: errors.Fault, outcome: Outcome) => ({ fault, outcome });

/** A login that nobody but a person can mend. */
const onLogin = { on: ['login'], fault: 'account', outcome: 'pause' } as const;
const onAttach = { on: ['attach'], fault: 'file', outcome: 'file', hint: limits } as const;
const ofSession = { fault: 'session', logsIn: true, outcome: 'session' } as const;
const ofRights = { status: [403], fault: 'account', outcome: 'fail', hint: rights } as const;
const onSearch = { ...on(['search'], 2), ...of('item', 'without') };
const ofPortal = { fault: 'portal', outcome: 'wait' } as const;
const ofItem = { fault: 'item', outcome: 'fail' } as const;
const ofImport = { ...on(['import'], 500), ...of('file', 'file') };
const ofFields = { status: [500], fault: 'item', outcome: 'fail' } as const;
const ofNetwork = {
  ...of('network', 'wait'),
  hint: 'check the address (`url`, `--portal`), that the portal runs there, and the network; sluice retries',
};
const unsent = { ...ofNetwork, isUndone: true } as const;

const table = {
  // Logins and log-outs (recorded behaviour 5; real portals 25).
  'logins-blocked': {
    ...on(['login'], 406),
    says: ['temporarily blocked'],
    ...of('account', 'wait'),
    hint: 'the portal blocks logins of this account or address after too many failures (for up to six hours); sluice retries by itself',
    waitMs: 300_000,
  },
  'already-logged-in': { ...on(['login'], 406), says: ['already logged in'], ...of('session', 'pause') },
  'account-blocked': {
    ...onLogin,
    status: [4],
    says: ['blocked'],
    hint: 'the portal has blocked this account; ask its administrator, then start again',
  },
  'no-login': { ...on(['login'], 404, 405, 410), ...of('portal', 'stop') },
  'login-page': {
    ...on(['login'], 4),
    when: ['an HTML page'],
    ...of('network', 'pause'),
    hint: 'the API returned an HTML page: check proxies in front of the portal, then start again',
  },
  'wrong-password': { ...onLogin, status: [4] },
  'not-logged-in': { ...on(['logout'], 406), says: ['not logged in'], ...of('session', 'without') },

  // Uploads (recorded behaviour 12; real portals 17).
  'request-too-large': { ...onAttach, status: [401], says: ['missing required argument field_name'] },
  'file-too-large': {
    ...onAttach,
    status: [406],
    says: ['failed to upload file'],
    when: ['for a name that portals accept'],
  },
  'file-kind': {
    ...on(['attach'], 406),
    says: ['failed to upload file'],
    ...of('file', 'file'),
    hint: 'publish it as a `link`, or in a format that the portal accepts; it is sent again once it changes, or by `sluice retry`',
  },
  'body-too-large': { ...onAttach, status: [413] },

  // Sessions (real portals 14, 16, 25).
  'session-ended': { ...ofSession, status: [403], says: ['for user anonymous', 'csrf'], when: ['in a session'] },
  'session-ended-silently': {
    ...ofSession,
    status: [2],
    when: ['to a read', 'in a session', 'with the session cookie deleted'],
  },
  'sent-home': {
    ...ofPortal,
    status: [3],
    when: ["to the portal's front page"],
    logsIn: true,
    hint: 'nothing to do: sluice waits for the end of the maintenance',
    isUndone: true,
  },
  'argument-missing': { ...ofItem, status: [401], says: ['missing required argument'] },
  unauthorized: { ...ofSession, status: [401] },

  // Rights (recorded behaviour 14; real portals 15).
  'datastore-denied': {
    ...on(['datastore', 'import'], 403),
    says: ['for user USER'],
    ...of('account', 'fail'),
    hint: 'give the account the permission *manage datastore*, or set `import: never`',
  },
  denied: { ...ofRights, says: ['for user USER'] },
  'forbidden-suddenly': {
    status: [403],
    when: ['in a session', 'to what worked before'],
    fault: 'session',
    logsIn: true,
    outcome: 'fail',
    hint: keptAway,
  },
  forbidden: { ...ofRights, hint: keptAway },

  // The search (real portals 4).
  'table-missing': {
    ...onSearch,
    says: ["doesn't exist", 'does not exist', 'not found', 'error parsing csv', 'unable to get headers from'],
  },
  'table-absent': { ...on(['search'], 404), ...of('item', 'without'), says: ['has no datastore table'] },
  'search-failed': { ...onSearch, says: ['exception caught'] },
  'search-broken': { ...ofPortal, ...on(['search'], 500), when: ['an HTML page'] },

  // The database (real portals 2, 10).
  busy: {
    status: [500],
    says: ['1213 deadlock found', '1205 lock wait timeout', '1305 savepoint', 'failed to get datastore variable lock'],
    ...of('portal', 'repeat'),
    hint: 'nothing to do: it is retried soon; if it happens often, lower `concurrency` of this portal, or avoid imports by others meanwhile',
  },
  'database-down': {
    ...ofPortal,
    status: [500],
    says: ['sqlstate[hy000] [', 'sqlstate[08', '2006 mysql', 'command denied to', '1114 the table', '1021 disk'],
  },

  // Imports (recorded behaviour 13; real portals 18, 19).
  'no-importer': {
    status: [500],
    says: ['no datastore managers'],
    ...of('portal', 'fail'),
    hint: 'the portal has no datastore importer enabled: enable one there (/admin/modules, such as DKAN Datastore Simple Import), or publish with `import: never`',
  },
  'csv-refused': { ...ofImport, says: ['error parsing csv'] },
  'too-many-columns': {
    ...ofImport,
    says: ['1118 row size too large', '1117 too many columns'],
    hint: 'publish fewer columns (some 200 fit), or set `import: never`',
  },
  'column-name': {
    ...ofImport,
    says: ['1166 incorrect column name', '1060 duplicate column name', '1059 identifier name'],
  },
  'header-missing': { ...ofImport, says: ['unable to get headers from'] },
  'cells-refused': { ...ofImport, says: ['sqlstate['] },
  'import-cut': {
    ...on(['import'], 500, 502, 504),
    when: ['no message'],
    ...of('file', 'retry'),
    hint: 'split the file, or ask the administrator of the portal to raise its time limit',
  },

  // What a node cannot hold (recorded behaviour 8, 9, 12; real portals 23).
  'lost-reference': {
    ...ofFields,
    says: ['value at node()'],
    outcome: 'retry',
    hint: 'nothing to do: the reference is removed',
  },
  'bundle-missing': {
    ...ofFields,
    says: ['missing bundle property'],
    outcome: 'retry',
    hint: 'check the nodes that the item refers to',
  },
  'fields-refused': {
    ...ofFields,
    says: ['field validation errors'],
    hint: 'make the account a member of the group of this item on the portal; else correct URLs, lengths and values of its fields',
  },
  'form-shape': {
    ...ofFields,
    says: ['select', 'value', 'textfield', 'value_field', 'other'].map((key) => `incorrect integer value: '${key}'`),
    hint: 'publish again: the next run writes them as this portal expects',
  },
  'value-refused': {
    ...ofFields,
    says: ['sqlstate[22', ' 1048 column', 'invalid option for field', 'cannot upload so many files'],
    hint: 'the portal cannot store these values; correct the fields or the title named in its message',
  },
  'form-refused': { ...ofItem, status: [406], when: ['`form_errors`'] },
  'uuid-taken': { ...on(['node'], 409), ...of('item', 'adopt'), hint: 'the next attempt adopts the node' },

  // The address (recorded behaviour 1, 2).
  'not-this-api': { status: [2, 404], when: ['before the first login'], ...of('portal', 'stop') },
  'page-missing': {
    ...on(['node', 'attach', 'import', 'datastore'], 404),
    when: ['an HTML page'],
    ...of('network', 'look'),
    hint: 'the address worked before: check proxies between sluice and the portal',
  },
  'node-gone': {
    status: [404],
    when: ['naming the node'],
    ...of('item', 'recreate'),
    hint: 'nothing to do: the next attempt looks for the node, and creates it again where it is gone',
  },
  'not-offered': {
    status: [404],
    when: ['an HTML page or `Could not find …`'],
    ...of('portal', 'without'),
    hint: 'this portal does not offer that part of the API; ask its administrator, or publish without it',
  },
  'not-found': { status: [404], ...of('item', 'without') },
  redirected: {
    status: [3],
    when: ['to another address'],
    ...of('portal', 'fail'),
    hint: 'if the portal has moved, set its url to where the redirect points: LOCATION',
  },

  // The whole portal (real portals 16, 24).
  maintenance: { ...ofPortal, status: [503], when: ['an HTML page'], hint: 'nothing to do: sluice waits for its end' },
  'rate-limited': {
    ...ofPortal,
    status: [429],
    hint: 'the portal is rate-limiting; lower requestsPerSecond or concurrency of this portal',
  },
  'server-error': { ...ofPortal, status: [5, 408, 425] },
  unknown: { status: [1, 4], fault: 'item', outcome: 'fail' },
  'odd-answer': {
    status: [2, 3],
    ...of('portal', 'look'),
    hint: 'check for a proxy, cache or maintenance page between sluice and the portal',
  },
  'too-long': {
    ...of('portal', 'look'),
    hint: 'this is not a reply of this API; check proxies between sluice and the portal',
  },

  // No reply.
  'connection-refused': { ...unsent, hint: 'connection refused: check that the portal runs, and the port in its url' },
  'unknown-host': { ...unsent, hint: "unknown host: check the portal's url and DNS" },
  unreachable: { ...unsent, hint: 'the connection timed out: check the url, the network and any firewall' },
  certificate: {
    ...unsent,
    hint: 'the certificate of the portal is not accepted: an expired one has to be renewed there, one for another host needs that host in the url; for a private certificate authority, set NODE_EXTRA_CA_CERTS to a file with its certificate',
  },
  'handshake-failed': {
    ...unsent,
    hint: 'the server does not speak https on that port: correct scheme and port of the url of this portal',
  },
  'too-slow': {
    ...ofNetwork,
    hint: 'the portal is too slow or hangs; sluice retries; the time-outs are set under http in the configuration',
  },
  'bad-http': {
    ...of('network', 'look'),
    hint: 'the portal, or something in front of it, sends broken headers: tell its operator; an http url must not name a port for https',
  },
  'no-reply': { ...ofNetwork },
} as const satisfies Record<string, Row>;

export type Situation = keyof typeof table;

export const answers: Readonly<Record<Situation, Row>> = table;

const rows = Object.entries(answers) as [Situation, Row][]; // its own keys

/** The situation that a reply shows; of status 2xx are replies that a caller cannot use. */
export const situationOf = (reply: Reply, portal: PortalFacts): Situation => {
  let known: string | undefined; // few replies are told by their words
  const words = () => (known ??= allWordsOf(reply).toLowerCase());
  return rows.find(([, row]) => fits(row, reply, portal, words))?.[0] ?? 'unknown';
};

export const hintFor = (situation: Situation): string => {
  const { hint, outcome } = answers[situation];
  return hint ?? usualHints[outcome] ?? 'nothing to do';
};

/** What the error in an answer of the search says; null for anything else, such as a lock that was not available. */
export const searchFault = (error: unknown): Situation | null => {
  const words = JSON.stringify(error).toLowerCase();
  const known = ['table-missing', 'search-failed'] as const;
  return known.find((each) => table[each].says.some((text) => words.includes(text))) ?? null;
};

/** True for the error of a request that was answered in one of these situations. */
export const isAnswer = (error: unknown, ...situations: Situation[]): error is errors.PortalError =>
  error instanceof errors.PortalError && situations.some((each) => each === error.request.situation);

/** `USER` is the user of the portal; without one no answer can name it. */
const fits = (row: Row, reply: Reply, portal: PortalFacts, words: () => string): boolean =>
  (row.status?.some((each) => each === reply.status || each === Math.floor(reply.status / 100)) ?? false) &&
  (row.on?.includes(targetKind(reply)) ?? true) &&
  (row.says?.some((text) => words().includes(text.replace('USER', () => portal.user?.toLowerCase() ?? '\0'))) ??
    true) &&
  (row.when?.every((condition) => conditions[condition](reply, portal, words)) ?? true);

const targetKind = ({ path }: Reply): Target => {
  const [bare = ''] = path.split('?');
  if (bare === paths.login) return 'login';
  if (bare === paths.logout) return 'logout';
  if (bare === paths.datastoreSearch) return 'search';
  if (bare.startsWith(`${paths.nodes}/`) && bare.endsWith('/attach_file')) return 'attach';
  if (bare === paths.nodes || bare.startsWith(`${paths.nodes}/`)) return 'node';
  if (!bare.startsWith(paths.datastore(''))) return 'other';
  return bare.endsWith('/import') ? 'import' : 'datastore';
};

/** Where a redirect points; null for an answer that is none. */
const targetOf = (reply: Reply, url: string): URL | null =>
  reply.headers.location === undefined ? null : URL.parse(reply.headers.location, `${url}${reply.path}`);

/** True for the address of a portal's front page: its own, without anything behind it. */
export const isFrontPage = (target: URL | null, url: string): boolean =>
  target !== null &&
  `${target.origin}${target.pathname}`.replace(/\/+(?:index\.php)?$/, '') === url &&
  target.search === '';

/** True for a message about the node in whatever language the portal speaks: `["Node 7 konnte nicht gefunden werden"]`. */
const namesNode = (reply: Reply): boolean => {
  const [, id] = /\/(?:node|datastore)\/([^/?]+)/.exec(reply.path) ?? [];
  if (id === undefined) return false;
  if (/\bnode\b.*\b(?:could not be|not) found\b/i.test(allWordsOf(reply))) return true;
  const value = parsedJson(reply.text);
  const [message] = Array.isArray(value) && value.length === 1 ? value : [];
  return typeof message === 'string' && /^\d+$/.test(id) && new RegExp(`\\b${id}\\b`).test(message);
};
