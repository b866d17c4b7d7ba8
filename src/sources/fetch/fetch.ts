// Fetches web files: whole or not at all, only when changed, and only from allowed addresses.
import { createHash, randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { makeFolder, unless, writeDurably } from '../../util/files.ts';
import { acceptEncoding, fileIn, mediaType, tooLarge } from './body.ts';
import { proxyOf } from './connect.ts';
import { type Answer, guardedClient, type Posting, release } from './guarded-client.ts';
import {
  type Fetched,
  type FetchOptions,
  type FetchPolicy,
  networkFailure,
  shown,
  statusFailure,
  type Validators,
} from './policy.ts';
import { conditions, fileNameOf, isSameVersion, nameInPath, oneOf, validatorsOf } from './response-headers.ts';

type Looked = { status: 'unchanged' } | { status: 'changed'; bytes: number | null; validators: Validators };

/** Fetches under one policy, which limits the requests to each host over all its calls. `close()` when done. */
export class Fetcher {
  readonly policy: FetchPolicy;
  private readonly client: ReturnType<typeof guardedClient>;

  constructor(policy: FetchPolicy, { lookup }: { lookup?: LookupFunction } = {}) {
    this.policy = policy;
    this.client = guardedClient(policy, lookup);
  }

  /**
   * Fetches `url` into the file `into` (absolute; folders are made), which is replaced at once, by a whole file that is
   * on the disk, or not at all. `unchanged` leaves it as it was.
   *
   * @throws SourceMissingError when the address is gone (404, 410)
   * @throws SourceRefusedError when it must not be fetched: a private address, a limit, a web page instead of data
   * @throws SourceUnreachableError when a later attempt may succeed; it begins anew
   */
  async toFile(url: string, into: string, options: FetchOptions): Promise<Fetched> {
    let answer: Answer | undefined;
    try {
      options.signal.throwIfAborted();
      answer = await this.ask(url, options);
      const { headers } = answer;
      if (answer.status === 304) return { status: 'unchanged', headers };
      const validators = validatorsOf(headers, answer.url, Date.now());
      if (isSameVersion(options.known, validators)) return { status: 'unchanged', headers };
      const { bytes, sha256 } = await this.store(answer, into, options);
      options.log?.debug({ url: answer.where, bytes }, 'fetched');
      const contentType = mediaType(oneOf(headers['content-type']));
      const facts = { bytes, sha256, validators, contentType, fileName: this.nameOf(answer), headers };
      return { status: 'fetched', finalUrl: answer.url.href, ...facts };
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      const address = URL.parse(url);
      // Faults that are not of the network: the state folder cannot be written.
      throw this.told(networkFailure(address ? shown(address) : 'the file', error));
    } finally {
      if (answer) release(answer.body);
    }
  }

  /** Asks whether `url` is still the known version; nothing is stored. Throws as {@link Fetcher.toFile}. */
  async look(url: string, options: FetchOptions): Promise<Looked> {
    const answer = await this.ask(url, options);
    release(answer.body);
    if (answer.status === 304) return { status: 'unchanged' };
    const validators = validatorsOf(answer.headers, answer.url, Date.now());
    if (isSameVersion(options.known, validators)) return { status: 'unchanged' };
    const encoded = answer.headers['content-encoding'] !== undefined;
    return { status: 'changed', bytes: encoded ? null : lengthOf(answer), validators };
  }

  /** Asks for `url`; returns the beginning of the file, at least `least` bytes. Nothing is stored. Throws as {@link Fetcher.toFile}. */
  async probe(url: string, options: FetchOptions, least = 1): Promise<string> {
    const answer = await this.ask(url, options);
    let read = Buffer.alloc(0);
    try {
      for await (const chunk of this.fileIn(answer, options)) {
        read = Buffer.concat([read, chunk]);
        if (read.length >= least) break;
      }
      return read.toString();
    } catch (error) {
      throw this.told(networkFailure(answer.where, error));
    } finally {
      release(answer.body);
    }
  }

  post(url: string, posting: Posting): Promise<number> {
    return this.client.post(url, posting);
  }

  async close(): Promise<void> {
    await this.client.close();
  }

  private told(error: unknown): unknown {
    if (error instanceof Error) error.message = this.client.redact(error.message);
    return error;
  }

  private async ask(url: string, options: FetchOptions): Promise<Answer> {
    const { known } = options;
    const headersFor = (at: URL): Record<string, string> => ({
      accept: options.accept ?? '*/*',
      'accept-encoding': acceptEncoding(options.name ?? nameInPath(at)),
      ...conditions(known, at),
    });
    const answer = await this.client.ask(url, { ...options, headersFor }).catch((error: unknown) => {
      throw this.told(error);
    });
    if (answer.status === 200 || (answer.status === 304 && known !== null)) return answer;
    release(answer.body);
    throw this.told(statusFailure(answer, this.client.heed(answer)));
  }

  private fileIn(answer: Answer, options: FetchOptions): AsyncGenerator<Uint8Array> {
    const { accept = '', spentBytes = 0 } = options;
    const name = options.name ?? this.nameOf(answer);
    const maxBytes = this.policy.maxBytes - spentBytes;
    const length = lengthOf(answer);
    if (length !== null && length > maxBytes) throw tooLarge(answer.where, `${length} bytes`, maxBytes);
    const expected = { name, accept, where: answer.where, redact: this.client.redact };
    return fileIn(answer, expected, { ...this.policy, maxBytes });
  }

  private nameOf({ headers, url }: Answer): string | null {
    return fileNameOf(this.client.redact(oneOf(headers['content-disposition']) ?? ''), url);
  }

  private async store(answer: Answer, into: string, options: FetchOptions): Promise<{ bytes: number; sha256: string }> {
    const content = this.fileIn(answer, options);
    const length = answer.headers['content-encoding'] === undefined ? lengthOf(answer) : null;
    const hash = createHash('sha256');
    let bytes = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of content) {
        hash.update(chunk);
        bytes += chunk.length;
        options.moved?.(bytes, length);
        yield chunk;
      }
    };
    await writeDurably(into, counted(), await newPart(into)).catch((error: unknown) => {
      throw networkFailure(answer.where, error);
    });
    return { bytes, sha256: hash.digest('hex') };
  }
}

/** As the configuration wants it; `env` names proxies. */
export const configuredFetcher = ({ sources }: Pick<Config, 'sources'>, env: NodeJS.ProcessEnv): Fetcher =>
  new Fetcher({
    ...sources,
    allowPrivate: sources.allow,
    userAgent: 'sluice (open data publishing)',
    proxy: sources.proxy === 'environment' ? proxyOf(env) : null,
  });

/** A part this old (ms) is of a process that was killed. */
const abandonedMs = 3_600_000;

/** The path of a download on its way into `into`; what killed processes left of others is removed. */
const newPart = async (into: string): Promise<string> => {
  const folder = dirname(into);
  await makeFolder(folder, 0o700);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(into)}.`) || !name.endsWith('.part')) continue;
    const age = Date.now() - ((await unless(stat(join(folder, name)), ['ENOENT'], null))?.mtimeMs ?? 0);
    if (age > abandonedMs) await rm(join(folder, name), { force: true });
  }
  return `${into}.${randomBytes(6).toString('hex')}.part`;
};

const lengthOf = ({ headers }: Answer): number | null => {
  const length = Number(oneOf(headers['content-length']));
  return Number.isSafeInteger(length) && length >= 0 ? length : null;
};
