// Fetches web files: whole or not at all, resumed, only when changed, and only from allowed addresses.
import type { LookupFunction } from 'node:net';
import { SluiceError, SourceUnreachableError } from '../../model/errors.ts';
import { acceptEncoding, decodersFor, encodingsOf, mediaType, PageWatch, pump, tooLarge, wrongType } from './body.ts';
import { type Answer, GuardedClient, type Posting, release } from './guarded-client.ts';
import { discardPart, type LeftPart, leftPart, Part } from './part.ts';
import {
  type Fetched,
  type FetchOptions,
  type FetchPolicy,
  networkFailure,
  shown,
  statusFailure,
  type Validators,
} from './policy.ts';
import {
  conditions,
  fileNameOf,
  isSameVersion,
  nameInPath,
  oneOf,
  rangeValidator,
  validatorsOf,
} from './response-headers.ts';

/** What is found out about an address without fetching it. */
type Looked = { status: 'unchanged' } | { status: 'changed'; bytes: number | null; validators: Validators };

/** Fetches under one policy, which limits the requests to each host over all its calls. `close()` when done. */
export class Fetcher {
  readonly policy: FetchPolicy;
  private readonly client: GuardedClient;
  /** Fetches into one file go one after the other. */
  private readonly busy = new Map<string, Promise<unknown>>();

  /** Sends nothing yet. `lookup` takes the place of the system's name service. */
  constructor(policy: FetchPolicy, { lookup }: { lookup?: LookupFunction } = {}) {
    this.policy = policy;
    this.client = new GuardedClient(policy, lookup);
  }

  /**
   * Fetches `url` into the file `into` (absolute; folders are made). What an interrupted fetch left in `<into>.part` is
   * resumed if the server offers ranges and still has the same version. `into` is replaced at once, by a whole file
   * that is on the disk, or not at all. `unchanged` leaves everything as it was.
   *
   * @throws SourceMissingError when the address is gone (404, 410)
   * @throws SourceRefusedError when it must not be fetched: a private address, a limit, a web page instead of data
   * @throws SourceUnreachableError when a later attempt may succeed; what came so far is kept
   */
  async toFile(url: string, into: string, options: FetchOptions): Promise<Fetched> {
    const before = this.busy.get(into) ?? Promise.resolve();
    const next = (): Promise<Fetched> => this.fetch(url, into, options);
    const own = before.then(next, next);
    this.busy.set(into, own);
    try {
      return await own;
    } catch (error) {
      throw options.signal.aborted ? options.signal.reason : fetchFailure(url, error);
    } finally {
      if (this.busy.get(into) === own) this.busy.delete(into);
    }
  }

  /** Asks whether `url` is still the known version; nothing is stored. Throws as {@link Fetcher.toFile}. */
  async look(url: string, options: FetchOptions): Promise<Looked> {
    const answer = await this.ask(url, options, null);
    release(answer.body);
    if (answer.status === 304) return { status: 'unchanged' };
    const validators = validatorsOf(answer.headers, answer.url, Date.now());
    if (isSameVersion(options.known, validators)) return { status: 'unchanged' };
    const encoded = answer.headers['content-encoding'] !== undefined;
    return { status: 'changed', bytes: encoded ? null : lengthOf(answer), validators };
  }

  /** Posts to where a fetch may go; see {@link GuardedClient.post}. */
  post(url: string, posting: Posting): Promise<number> {
    return this.client.post(url, posting);
  }

  /** Ends all connections at once. Idempotent. */
  async close(): Promise<void> {
    await this.client.close();
  }

  private async fetch(url: string, into: string, options: FetchOptions): Promise<Fetched> {
    options.signal.throwIfAborted();
    const left = await leftPart(into, url);
    const answer = await this.ask(url, options, left).catch(async (error: unknown) => {
      if (isFinal(error)) await discardPart(into);
      throw error;
    });
    try {
      if (answer.status === 304) return await unchanged(into);
      if (answer.status === 416 || (answer.status === 206 && !continues(answer, left))) {
        // What is left belongs to another version, or is whole already.
        await discardPart(into);
        release(answer.body);
        return await this.fetch(url, into, options);
      }
      const validators = validatorsOf(answer.headers, answer.url, Date.now());
      if (isSameVersion(options.known, validators)) return await unchanged(into);
      return await this.store({ url, into, answer, left, validators }, options);
    } finally {
      release(answer.body);
    }
  }

  /** The answer of status 200, 206, 304 or 416; the errors of other ones. */
  private async ask(url: string, options: FetchOptions, left: LeftPart | null): Promise<Answer> {
    const { known, signal, log } = options;
    const answer = await this.client.ask(url, {
      headersFor: (at) => ({
        accept: options.accept ?? '*/*',
        'accept-encoding': left === null ? acceptEncoding(options.name ?? nameInPath(at)) : 'identity',
        ...conditions(known, at),
        ...(left?.validator ? { range: `bytes=${left.bytes}-`, 'if-range': left.validator } : {}),
      }),
      signal,
      log,
    });
    const { status } = answer;
    const ranged = left?.validator ? status === 206 || status === 416 : false;
    if (status === 200 || ranged || (status === 304 && known !== null)) return answer;
    release(answer.body);
    throw statusFailure(answer.where, status, this.client.heed(answer));
  }

  private async store(task: Task, options: FetchOptions): Promise<Fetched> {
    const { answer, into, left, validators } = task;
    const type = mediaType(oneOf(answer.headers['content-type']));
    const fileName = fileNameOf(oneOf(answer.headers['content-disposition']), answer.url);
    const name = options.name ?? fileName;
    const refusal = wrongType(type, { name, accept: options.accept ?? '' }, answer.where);
    if (refusal !== null) throw refusal;
    const encodings = encodingsOf(oneOf(answer.headers['content-encoding']), { name, type });
    const decoders = decodersFor(encodings, answer.where);
    const length = wholeLength(answer, left);
    const maxBytes = this.policy.maxBytes - (options.spentBytes ?? 0);
    if (length !== null && length > maxBytes) throw tooLarge(answer.where, `${length} bytes`, maxBytes);

    const part = await openPart(task, encodings.length > 0, options.signal);
    const resumed = part.bytes > 0;
    if (resumed) options.report?.(`resuming after ${part.bytes} bytes`);
    const watch = resumed ? null : new PageWatch(type, { name, accept: options.accept ?? '' }, answer.where);
    try {
      const total = decoders.length > 0 ? null : length;
      await pump(
        { answer, decoders, part, watch, total },
        { ...options, limits: { ...this.policy, maxBytes }, report: options.report },
      );
    } catch (error) {
      if (isFinal(error)) await part.discard();
      else await part.keep();
      throw networkFailure(answer.where, error);
    }
    const { bytes, sha256 } = await part.finish();
    options.log?.debug({ url: answer.where, bytes, resumed }, 'fetched');
    return {
      status: 'fetched',
      path: into,
      bytes,
      sha256,
      validators,
      contentType: type,
      fileName,
      finalUrl: answer.url.href,
      headers: answer.headers,
    };
  }
}

interface Task {
  url: string;
  into: string;
  answer: Answer;
  left: LeftPart | null;
  validators: Validators;
}

/** True when what came so far is of no use. */
const isFinal = (error: unknown): boolean => error instanceof SluiceError && !(error instanceof SourceUnreachableError);

/** Faults that are not of the network: the state folder cannot be written. */
const fetchFailure = (url: string, error: unknown): unknown => {
  const address = URL.parse(url);
  return networkFailure(address ? shown(address) : 'the file', error);
};

const unchanged = async (into: string): Promise<Fetched> => {
  await discardPart(into);
  return { status: 'unchanged' };
};

/** True when a partial reply continues exactly where what is left ends, to the end of the file, in the same version. */
const continues = ({ headers }: Answer, left: LeftPart | null): boolean => {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(oneOf(headers['content-range']) ?? '') ?? [];
  if (left === null || Number(first) !== left.bytes || Number(last) + 1 !== Number(total)) return false;
  if (headers['content-encoding'] !== undefined) return false;
  const etag = oneOf(headers.etag);
  return etag === undefined || !left.validator?.startsWith('"') || etag === left.validator;
};

const openPart = async ({ url, into, answer, left }: Task, encoded: boolean, signal: AbortSignal): Promise<Part> => {
  if (answer.status === 206 && left !== null) {
    return await Part.resume(into, { url, validator: left.validator }, left.bytes, signal);
  }
  return await Part.begin(into, { url, validator: encoded ? null : rangeValidator(answer.headers, Date.now()) });
};

/** Bytes of the whole file as they are sent; null where they are not announced. */
const wholeLength = (answer: Answer, left: LeftPart | null): number | null => {
  const length = lengthOf(answer);
  return length === null ? null : length + (answer.status === 206 ? (left?.bytes ?? 0) : 0);
};

const lengthOf = ({ headers }: Answer): number | null => {
  const length = Number(oneOf(headers['content-length']));
  return Number.isSafeInteger(length) && length >= 0 ? length : null;
};
