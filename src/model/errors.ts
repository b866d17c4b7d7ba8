// Every error that sluice raises on purpose: a code, whether a retry can help, and what to do.
import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { defined } from '../util/json.ts';
import type { Reason } from './report.ts';

export interface ErrorDetails {
  hint?: string | undefined;
  cause?: unknown;
  /** Where in a file, from 1; absent where the file as a whole is meant. */
  line?: number | undefined;
  column?: number | undefined;
}

/** The text without characters that control a terminal or its text direction; newlines and tabs stay. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '');

/** A text on one line: what a portal or source calls a thing must not look like a line of ours. */
export const oneLine = (text: string): string => text.replace(/(?<=\S)\s*[\n\u2028\u2029]\s*/g, ' ');

/** Base of all errors that sluice raises on purpose; anything else that is thrown is a bug (exit code 1). */
export abstract class SluiceError extends Error {
  /** Stable identifier, listed in `docs/reference/errors.md`. */
  abstract readonly code: ErrorCode;
  /** True when the same call may succeed later without anybody changing anything. */
  readonly retryable: boolean = false;
  readonly hint: string | undefined;
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(printable(message), details.cause === undefined ? {} : { cause: details.cause });
    this.name = new.target.name;
    this.hint = details.hint === undefined ? undefined : printable(details.hint);
    this.line = details.line;
    this.column = details.column;
  }
}

/** Every error code with the sentence that the documentation's table shows for it. */
export const errorCodes = {
  usage: 'The command line is invalid.',
  config: 'A configuration file is invalid; each problem is listed.',
  manifest: 'A manifest is invalid; each problem is listed.',
  'redis-unreachable': 'The Redis server of REDIS_URL (or `redis.url`) does not answer or cannot be used.',
  'redis-missing': 'No Redis server could be found or fetched for the embedded default.',
  'redis-failed': 'The embedded Redis server was found but did not start.',
  'state-mismatch':
    'The spool folder or state folder belongs to another Redis, or Redis holds the state of another release.',
  'machine-busy': 'The host or the process has too many files and connections open.',
  'state-full': 'A disk or Redis accepts no more data: full, at its memory limit, or read-only.',
  'portal-unreachable': 'The portal did not answer: network error, time-out, or a 408, 425, 429 or 5xx status.',
  'portal-busy': "The portal's database could not handle concurrent requests; nothing was stored.",
  'portal-session': 'The portal ended the session again after fresh logins.',
  'portal-login': 'The portal refused the login; it is paused until the credentials are corrected.',
  'portal-gone': 'A published node is no longer on the portal.',
  'portal-refused': 'The portal refused a request and gave a reason; a retry would not help.',
  'portal-not-api': 'The address answers, but not as a Dataset REST API.',
  'portal-reply': "The portal's reply does not match this API.",
  'portal-conflict': 'The portal already has a node with that UUID.',
  'node-unclear': 'The portal may already have the node; nothing is created until you decide.',
  'source-missing': 'The file of a resource does not exist or cannot be read, or its address is gone (404, 410).',
  'source-changed': 'The file of a resource changed while it was being read.',
  'source-refused': 'A file or address must not be read, or has unexpected content.',
  'source-unreachable':
    'The server of an address did not answer: network error, time-out, or a 202, 408, 425, 429 or 5xx status.',
  'catalogue-fault': 'A catalogue cannot be read; nothing is published or removed.',
  'entry-fault': 'An entry of a catalogue or list is invalid and skipped; what it published before stays.',
  'table-encoding': 'The file is not valid UTF-8 text: another encoding, or NUL bytes.',
  'table-empty': 'The file holds no header row.',
  'table-header': 'The header row has an empty, a duplicate or an unusable cell.',
  'table-ragged': 'A row has more or fewer cells than the header.',
  'table-quote': 'A quote is never closed, or is in the wrong place.',
  'table-formula': 'A formula of a workbook has no result in the file.',
  'table-oversize': 'A row exceeds the limit, usually because of an unclosed quote.',
  'table-input': 'An archive, workbook or JSON file cannot be read as a table.',
  'table-step': 'A step of `table`, or the schema, does not fit the table: a missing column, a module that failed.',
  'table-rows': 'More bad rows than `badRows` and `maxBadRows` allow; nothing was published.',
  'import-failed': 'The portal reports that the datastore import failed.',
  'import-timeout': 'The datastore import timed out.',
  'verify-failed': 'The portal does not hold what was sent.',
  'poison-job': 'A job was killed five times in the same step, or lost fifty times, and is not retried.',
  'dataset-failed': 'The resource was skipped because its dataset could not be published.',
  'job-lost': 'A job of the run vanished from the queue.',
  'jobs-stuck': 'The run made no progress, even after a restart, and was closed.',
  drift: 'Published fields were edited on the portal since the last write; the item is held (`onDrift`).',
  'plan-moved': 'Source or portal changed since the plan was made; the item was skipped.',
  held: 'A guard held the run or a table; published content stays unchanged.',
  discarded: 'The held version of a table was discarded; the previous version stays.',
  cancelled: 'The run was cancelled; completed work is kept, the next run does the rest.',
  paused: 'An operator paused the portal; only `sluice resume` ends that.',
  unfinished: 'The run did not finish in time; it stays queued.',
  interrupted: 'The command was interrupted; the next start resumes its work.',
  'portal-port': 'The embedded portal cannot listen on its address, or another process serves its store.',
  'portal-store': 'The store of the embedded portal cannot be opened or written.',
  'users-file': 'The users file of the embedded portal is invalid or readable by others.',
  'notice-failed': 'A notice was not delivered; it is retried for more than an hour.',
  'not-found': 'No such key, file, run or job is known.',
} as const;

export type ErrorCode = keyof typeof errorCodes;

export const isErrorCode = (word: string): word is ErrorCode => Object.hasOwn(errorCodes, word);

/** Codes of errors that may pass by themselves. */
export const retriedCodes = new Set<ErrorCode>(['source-unreachable']);

const errorOf = <Code extends ErrorCode>(code: Code, retryable = false) => {
  if (retryable) retriedCodes.add(code);
  return class extends SluiceError {
    readonly code = code;
    override readonly retryable = retryable;
  };
};

// One class for each code; what is not said here is in the table above.

export class UsageError extends errorOf('usage') {}

/** One fault of a configuration file or manifest. Lines and columns count from 1. */
export interface FileProblem {
  file: string;
  line: number;
  column: number;
  /** Dotted path of the key, such as `datasets.2.title`; empty for the file as a whole. */
  key: string;
  message: string;
  /** What to do about a file that cannot be read at all; no line is at fault then. */
  hint?: string;
}

export const problemLine = ({ file, line, column, key, message, hint }: FileProblem): string =>
  `${file}${hint === undefined ? `:${line}:${column}` : ''}: ${key === '' ? '' : `${key}: `}${message}`;

export const byPlace = (a: FileProblem, b: FileProblem): number => a.line - b.line || a.column - b.column;

/** A problem of a file as a whole, or of a place in it that is not known. */
export const fileProblem = (file: string, message: string, key = '') => ({ file, line: 1, column: 1, key, message });

const listProblems = (what: string, problems: FileProblem[]): string =>
  [
    `${what}: ${problems.length} problem${problems.length === 1 ? '' : 's'}`,
    ...problems.map((problem) => `  ${problemLine(problem)}`),
  ].join('\n');

const fileErrorOf = <Code extends 'config' | 'manifest'>(code: Code, what: string) =>
  class extends SluiceError {
    readonly code = code;
    readonly problems: FileProblem[];

    constructor(problems: FileProblem[], details: ErrorDetails = {}) {
      const whole = problems.length === 1 ? problems.find(({ hint }) => hint !== undefined) : undefined;
      super(whole ? problemLine(whole) : listProblems(`the ${what} is invalid`, problems), {
        hint: `fix these lines; \`sluice help ${code}\` lists every key`,
        ...details,
        ...(whole?.hint === undefined ? {} : { hint: whole.hint }),
      });
      this.problems = problems;
    }
  };

export class ConfigError extends fileErrorOf('config', 'configuration') {}
export class ManifestError extends fileErrorOf('manifest', 'manifest') {}

/** An external Redis was requested and does not answer or cannot be used. There is no silent fallback. */
export class RedisUnreachableError extends errorOf('redis-unreachable', true) {}
export class RedisMissingError extends errorOf('redis-missing') {}
export class RedisFailedError extends errorOf('redis-failed') {}
export class StateMismatchError extends errorOf('state-mismatch') {}
export class StateFullError extends errorOf('state-full', true) {}
export class MachineBusyError extends errorOf('machine-busy', true) {}

/** Whose fault a failure at a portal is: of what would have to change. */
export type Fault = 'account' | 'session' | 'file' | 'item' | 'portal' | 'network';

export interface PortalRequestFacts {
  method: string;
  /** Path and query below the portal's address; never holds credentials. */
  path: string;
  status?: number;
  retryAfterMs?: number;
  /** True when the request may have taken effect although no proper reply came. */
  mayHaveHappened?: boolean;
  /** Names of the fields that the portal's editing form refused; nothing was stored then. */
  formErrors?: string[];
  /** The node that a conflict names. */
  nid?: string;
  /** What the answer shows: the name of a row of `portal-client/answers.ts`. */
  situation?: string;
  fault?: Fault;
}

/** Base of the errors about one request to a portal; the message names method, path, status and the portal's own words. */
export abstract class PortalError extends SluiceError {
  readonly request: PortalRequestFacts;

  constructor(message: string, request: PortalRequestFacts, details: ErrorDetails = {}) {
    super(oneLine(message), details);
    this.request = request;
  }
}

const portalErrorOf = <Code extends ErrorCode>(code: Code, retryable = false) => {
  if (retryable) retriedCodes.add(code);
  return class extends PortalError {
    readonly code = code;
    override readonly retryable = retryable;
  };
};

export class PortalUnreachableError extends portalErrorOf('portal-unreachable', true) {}
export class PortalBusyError extends portalErrorOf('portal-busy', true) {}
export class PortalSessionError extends portalErrorOf('portal-session', true) {}
export class PortalLoginError extends portalErrorOf('portal-login') {}
/** The next attempt looks for the node, and creates it again where it is gone: databases undo new nodes, replicas show them late. */
export class PortalGoneError extends portalErrorOf('portal-gone', true) {}
export class PortalRefusedError extends portalErrorOf('portal-refused') {}

/** A create was refused because the uuid exists (409); `request.nid` when the portal names it. */
export class PortalConflictError extends portalErrorOf('portal-conflict') {}

export class NodeUnclearError extends errorOf('node-unclear') {}
export class PortalNotApiError extends portalErrorOf('portal-not-api') {}
/** The reply does not have the shape of this API. After a write the effect is unknown, so the job looks before it repeats. */
export class PortalReplyError extends portalErrorOf('portal-reply', true) {}

/** True for the faults of a portal that is down, overloaded, or hidden behind a maintenance page; not for those of one item or file. */
export const isOutage = (error: unknown): error is PortalUnreachableError | PortalReplyError =>
  (error instanceof PortalUnreachableError || error instanceof PortalReplyError) &&
  error.request.fault !== 'item' &&
  error.request.fault !== 'file';

export class SourceMissingError extends errorOf('source-missing') {}
export class SourceChangedError extends errorOf('source-changed', true) {}
export class SourceRefusedError extends errorOf('source-refused') {}

/** A job does not wait longer than this (ms) for a server that requests a pause: the run would stay open. */
const longestPauseMs = 600_000;

/** The server of a `url` did not answer properly; it is retried, unless it requests a pause of more than ten minutes. */
export class SourceUnreachableError extends SluiceError {
  readonly code = 'source-unreachable';
  override readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails & { retryAfterMs?: number | undefined } = {}) {
    super(message, details);
    this.retryable = (details.retryAfterMs ?? 0) <= longestPauseMs;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** A catalogue as a whole cannot be read; retried where the server of one of its pages did not answer. */
export class CatalogueFaultError extends SluiceError {
  readonly code = 'catalogue-fault';
  override readonly retryable: boolean;
  /** The message without the place that it begins with. */
  readonly what: string;
  declare readonly line: number;
  declare readonly column: number;

  constructor(what: string, place: { name: string; line: number; column: number }, details: ErrorDetails = {}) {
    const { name, line, column } = place;
    super(`${name}:${line}:${column}: ${what}`, { ...details, line, column });
    this.what = what;
    this.retryable = details.cause instanceof SourceUnreachableError && details.cause.retryable;
  }
}

export class EntryFaultError extends errorOf('entry-fault') {}

export type TableFaultCode = Exclude<
  Extract<ErrorCode, `table-${string}`>,
  'table-input' | 'table-step' | 'table-rows'
>;

/** The letters that spreadsheets name a column by; `column` counts from 1. */
export const lettersOf = (column: number): string =>
  (column > 26 ? lettersOf(Math.floor((column - 1) / 26)) : '') + String.fromCharCode(65 + ((column - 1) % 26));

/** Where a table is faulty, from 1; of a workbook with the name of the sheet, and `line` is the row. */
type TablePlace = { line: number; column?: number | undefined; sheet?: string | undefined };

export const placeText = ({ line, column, sheet }: TablePlace): string => {
  if (sheet === undefined) return `line ${line}${column === undefined ? '' : `, column ${column}`}`;
  return `sheet ${JSON.stringify(sheet)}, row ${line}${column === undefined ? '' : `, column ${lettersOf(column)}`}`;
};

export class TableFaultError extends SluiceError {
  readonly code: TableFaultCode;
  /** The message without the place that it begins with. */
  readonly what: string;
  declare readonly line: number;
  readonly sheet: string | undefined;

  constructor(what: string, { code, ...place }: TablePlace & { code: TableFaultCode }, details: ErrorDetails = {}) {
    const { line, column, sheet } = place;
    super(`${placeText(place)}: ${what}`, { ...details, line, column });
    this.code = code;
    this.what = what;
    this.sheet = sheet;
  }
}

export class TableInputError extends errorOf('table-input') {}
export class TableStepError extends errorOf('table-step') {}
/** Too many rows are bad; `line` is that of the first. */
export class TableRowsError extends errorOf('table-rows') {}

export class ImportFailedError extends errorOf('import-failed') {}
/** The importer's verdict on a file: another import of it would end in the same way. */
export class TableRefusedError extends ImportFailedError {}
export class ImportTimeoutError extends errorOf('import-timeout', true) {}
export class VerifyFailedError extends errorOf('verify-failed') {
  constructor(message: string, details: ErrorDetails = {}) {
    super(oneLine(message), details);
  }
}
export class PoisonJobError extends errorOf('poison-job') {}
export class DatasetFailedError extends errorOf('dataset-failed') {}
export class JobLostError extends errorOf('job-lost') {}
export class JobsStuckError extends errorOf('jobs-stuck') {}
export class HeldError extends errorOf('held') {}
export class DiscardedError extends errorOf('discarded') {}
export class CancelledError extends errorOf('cancelled') {}
export class PausedError extends errorOf('paused') {}
export class DriftError extends errorOf('drift') {}
export class PlanMovedError extends errorOf('plan-moved') {}
export class UnfinishedError extends errorOf('unfinished') {}
export class InterruptedError extends errorOf('interrupted') {}
export class PortalPortError extends errorOf('portal-port') {}
export class PortalStoreError extends errorOf('portal-store') {}
export class UsersFileError extends errorOf('users-file') {}
export class NoticeFailedError extends errorOf('notice-failed', true) {}
export class NotFoundError extends errorOf('not-found') {}

/** Codes of the operating system for too many open files, of the process or of the host. */
const busyCodes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE']);

const busyError = ({ message }: { message: string }, cause: unknown): MachineBusyError =>
  new MachineBusyError(message, {
    hint: 'nothing to do once: it is retried; if it persists, raise the limit of open files (`ulimit -n`)',
    cause,
  });

/** True for a code of the operating system that says that a disk accepts no more data. */
export const isFullCode = (code: unknown): boolean => code === 'ENOSPC' || code === 'EDQUOT' || code === 'EROFS';

const fullHint = 'nothing is lost: work resumes by itself or with the next command';

/** Replies of Redis when it accepts no more data, with their meaning and what to do. */
const redisFaults: readonly [words: RegExp, what: string, hint: string][] = [
  [
    /\bMISCONF\b/,
    'cannot write its data to its disk',
    'make room on the disk of Redis (the state folder), see its log',
  ],
  [
    /\bOOM command not allowed\b/,
    'has reached its memory limit',
    'raise `maxmemory` of Redis, or give it a larger plan',
  ],
  [/^READONLY\b/, 'is a read-only replica', 'point `redis.url` at the primary server'],
];

/**
 * True for a transaction whose server went away, or handed its keys to another, halfway: a part of it was sent again
 * elsewhere. One that was refused names the reasons (`previousErrors` of ioredis).
 */
const isCutOff = (error: Error): boolean =>
  error.message.startsWith('Command aborted due to connection close') ||
  (error.message.startsWith('EXECABORT') && 'previousErrors' in error && refusalsOf(error).length === 0);

/** The error for a machine that accepts no more data, has too many files open or was replaced, if that was thrown; anything else unchanged. */
export const machineFault = (thrown: unknown): unknown => {
  if (!(thrown instanceof Error) || thrown instanceof SluiceError) return thrown;
  if ('code' in thrown && busyCodes.has(thrown.code)) return busyError(thrown, thrown);
  if ('code' in thrown && isFullCode(thrown.code)) {
    const hint = `make room on that disk, or mount it for writing; ${fullHint}`;
    return new StateFullError(`a file could not be written: ${thrown.message}`, { hint, cause: thrown });
  }
  if (isCutOff(thrown)) {
    return new RedisUnreachableError(`Redis was cut off in the middle of a transaction: ${thrown.message}`, {
      hint: 'nothing to do: it is retried',
      cause: thrown,
    });
  }
  const messages = [thrown, ...refusalsOf(thrown)].map(({ message }) => message);
  for (const [words, what, todo] of redisFaults) {
    const message = messages.find((each) => words.test(each));
    if (message === undefined) continue;
    // Of a command in a script, Redis also says where.
    const said = message.replace(/ script: [0-9a-f]{40}, on @user_script:\d+\.?$/, '');
    return new StateFullError(`Redis ${what}: ${said}`, { hint: `${todo}; ${fullHint}`, cause: thrown });
  }
  return thrown;
};

/** True when the same may succeed later without anybody changing anything. Unknown errors are bugs: not retried. */
export const isRetryable = (thrown: unknown): boolean => {
  const error = machineFault(thrown);
  return error instanceof SluiceError && error.retryable;
};

const refusalsOf = (error: Error): Error[] => {
  const refusals = 'previousErrors' in error ? error.previousErrors : null;
  return Array.isArray(refusals) ? refusals.filter((each) => each instanceof Error) : [];
};

export const errorMessage = (cause: unknown): string =>
  cause instanceof Error ? cause.message || cause.name : String(cause);

/** The error itself where it says what is wrong with a source; others are thrown again. */
export const sluiceError = (error: unknown): SluiceError => {
  if (error instanceof SluiceError) return error;
  throw error;
};

const noFile = ['there is no such file', 'check the path; the file may have been moved or deleted'] as const;
const noPermission = [
  'the file may not be read (permissions)',
  'let the user that runs sluice read the file and enter its folders',
] as const;

const unreadableWords: Record<string, readonly [why: string, hint: string]> = {
  ENOENT: noFile,
  ENOTDIR: noFile,
  EISDIR: ['this is a folder, not a file', 'name the files in it'],
  ENXIO: ['this is a pipe or device, not a file', 'name a regular file'],
  EACCES: noPermission,
  EPERM: noPermission,
};

/** Why a file cannot be read, and what to do. @throws MachineBusyError where that says nothing about the file */
export const unreadable = (cause: unknown): { why: string; hint: string } => {
  const { code = '', message = errorMessage(cause) } = cause as { code?: unknown; message?: string };
  if (busyCodes.has(code)) throw busyError({ message }, cause);
  const [why, hint] = unreadableWords[String(code)] ?? [message, 'check the file and its drive'];
  return { why, hint };
};

export const missingSource = (path: string, cause: unknown): SourceMissingError => {
  const { why, hint } = unreadable(cause);
  const isGone = (cause as NodeJS.ErrnoException | null)?.code === 'ENOENT';
  const twin = isGone ? sameLetters(path) : undefined;
  const form = `the folder has ${twin}, the same letters in another Unicode form: copy the name from there, or rename the file`;
  const slash = path.includes('\\') ? 'separate folders by `/`, not `\\`; ' : '';
  const back = `${slash}check the path, or put the file back; if it is gone for good, take it out of its manifest`;
  return new SourceMissingError(`${path}: ${why}`, { hint: twin ? form : isGone ? back : hint, cause });
};

/** The name beside a missing file that differs from its own only in how letters with accents are composed. */
const sameLetters = (path: string): string | undefined => {
  try {
    return readdirSync(dirname(path)).find((name) => name.normalize() === basename(path).normalize());
  } catch {
    return undefined; // the folder is missing as well
  }
};

/** What cannot be had because of an error of these kinds, by default of any that is known, is null. */
export const orNull = <T>(pending: Promise<T>, kinds: readonly ErrorKind[] = [SluiceError]): Promise<T | null> =>
  pending.catch((error: unknown) => {
    if (kinds.some((kind) => error instanceof kind)) return null;
    throw error;
  });

type ErrorKind = abstract new (...given: never[]) => SluiceError;

/** Turns anything thrown into a reason; what is not a {@link SluiceError} becomes code `bug`. */
export const reasonOf = (thrown: unknown): Reason => {
  const error = machineFault(thrown);
  if (error instanceof SluiceError) {
    const { code, message, hint = null, line, column } = error;
    return { code, message, hint, ...defined({ line, column }) };
  }
  return {
    code: 'bug',
    message: printable(errorMessage(error)),
    hint: 'this is a fault of sluice; the job log holds the details',
  };
};
