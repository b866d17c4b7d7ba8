// The body of an answer on its way into a part: decoded, looked at, within its limits.
import { pipeline as piped, type Readable, type Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SourceRefusedError, SourceUnreachableError } from '../../model/errors.ts';
import { countBytes, isBomb, type PageWatch } from './content.ts';
import type { Answer } from './guarded-client.ts';
import type { Part } from './part.ts';
import type { FetchPolicy } from './policy.ts';

/** Where the bytes come from, what they pass, and where they go. */
interface Flow {
  answer: Answer;
  /** Take off the encodings, in their order. */
  decoders: Transform[];
  /** Null where the beginning was checked by an earlier fetch. */
  watch: PageWatch | null;
  part: Part;
  /** Bytes of the whole file; null where they are not known, as of encoded ones. */
  total: number | null;
}

/** What bounds the flow, and who learns how far it is. */
interface PumpOptions {
  limits: Pick<FetchPolicy, 'maxBytes' | 'bodyMs'>;
  signal: AbortSignal;
  report: ((line: string) => void) | undefined;
}

/** How often the progress of a long flow is reported, milliseconds. */
const reportEveryMs = 15_000;

/**
 * Lets the body flow to its end. Memory is that of a few chunks.
 * @throws SourceRefusedError for what is too large, a bomb or a page; SourceUnreachableError for a body that trickles;
 *   what the network or a decoder throws
 */
export const pump = async (
  { answer, decoders, watch, part, total }: Flow,
  { limits, signal, report }: PumpOptions,
): Promise<void> => {
  let sent = 0;
  const count = countBytes((bytes) => {
    sent += bytes;
  });
  const write = async (chunks: Uint8Array[]): Promise<void> => {
    for (const chunk of chunks) {
      const bytes = part.bytes + chunk.length;
      if (bytes > limits.maxBytes) throw tooLarge(answer.where, `at least ${bytes} bytes`, limits.maxBytes);
      await part.write(chunk);
    }
    if (decoders.length > 0 && isBomb(sent, part.bytes)) throw bomb(answer.where, sent, part.bytes);
  };
  const silence = watchSilence(answer, limits.bodyMs, () => sent);
  const whole = total === null ? '' : ` of ${total}`;
  const progress = setInterval(() => report?.(`fetched ${part.bytes}${whole} bytes`), reportEveryMs);
  try {
    const sink = sinkOf(
      (chunk) => write(watch?.take(chunk) ?? [chunk]),
      () => write(watch?.end() ?? []),
    );
    await pipeline([answer.body, count, ...decoders, sink], { signal });
  } finally {
    clearInterval(silence);
    clearInterval(progress);
  }
};

/** The bytes of a body that goes elsewhere than into a part, within the same limits. @throws as {@link pump} */
export async function* boundedBody(
  body: Readable,
  { where, decoders, limits }: { where: string; decoders: Transform[]; limits: PumpOptions['limits'] },
): AsyncGenerator<Buffer> {
  let [sent, bytes] = [0, 0];
  const count = countBytes((more) => {
    sent += more;
  });
  const silence = watchSilence({ body, where }, limits.bodyMs, () => sent);
  try {
    piped([body, count, ...decoders], () => undefined); // what is read below throws what went wrong
    for await (const chunk of decoders.at(-1) ?? count) {
      bytes += chunk.length;
      if (bytes > limits.maxBytes) throw tooLarge(where, `at least ${bytes} bytes`, limits.maxBytes);
      if (decoders.length > 0 && isBomb(sent, bytes)) throw bomb(where, sent, bytes);
      yield chunk;
    }
  } finally {
    clearInterval(silence);
  }
}

/** The error for a file beyond the limit; `size` as far as it is known. */
export const tooLarge = (where: string, size: string, limit: number): SourceRefusedError =>
  new SourceRefusedError(`${where} has ${size}, more than the limit of ${limit}`, {
    hint: 'publish it as a `link`, or raise sources.maxSize in the configuration',
  });

const bomb = (where: string, sent: number, bytes: number): SourceRefusedError =>
  new SourceRefusedError(`${where} grows from ${sent} to more than ${bytes} bytes when decompressed`, {
    hint: 'tables do not compress that much; if it is intended, serve the file without content encoding',
  });

const sinkOf = (write: (chunk: Uint8Array) => Promise<void>, end: () => Promise<void>): Writable =>
  new Writable({
    // Inside the chain, so that what is thrown before the first await is caught as well.
    write: (chunk: Uint8Array, _encoding, done) => {
      Promise.resolve(chunk)
        .then(write)
        .then(() => done(), done);
    },
    final: (done) => {
      Promise.resolve()
        .then(end)
        .then(() => done(), done);
    },
  });

/** Fewer bytes than this in one span of silence are silence. */
const leastBytes = 512;

/** Ends a body that trickles: a server may not hold a worker with a byte a minute. */
const watchSilence = (
  { body, where }: { body: Readable; where: string },
  ms: number,
  sent: () => number,
): NodeJS.Timeout => {
  let before = 0;
  return setInterval(() => {
    const now = sent();
    if (now - before < leastBytes) {
      body.destroy(
        new SourceUnreachableError(
          `${where} could not be fetched: only ${now - before} bytes arrived within ${ms} ms`,
          {
            hint: 'the server is too slow; sluice retries; raise `sources.body` in the configuration if needed',
          },
        ),
      );
    }
    before = now;
  }, ms);
};
