// A connection that is cut at any place, any number of times, with any kind of server: the file is whole or not there.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { SourceUnreachableError } from '../../../src/model/errors.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import type { FetchPolicy } from '../../../src/sources/fetch/policy.ts';
import { draws, fc } from '../../support/extent.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { type Answering, fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const server = await startSources();
const policy: FetchPolicy = { ...fetchPolicy, maxBytes: 10_000_000 };
const fetcher = new Fetcher(policy);
afterAll(() => fetcher.close());

/** Lets a whole answer pass up to a number of bytes of its body, then cuts the line. */
const cutAfter =
  (bytes: number, answer: Answering): Answering =>
  (request, response) => {
    const end = response.end.bind(response);
    response.end = ((body?: Uint8Array) => {
      if (body === undefined || body.length <= bytes) return end(body);
      response.write(body.subarray(0, bytes), () => setImmediate(() => response.destroy()));
      return response;
    }) as typeof response.end; // the one way that fileAnswer calls it
    answer(request, response);
  };

const versions = fc.record({
  bytes: fc.integer({ min: 1, max: 300_000 }),
  etag: fc.constantFrom('"strong"', 'W/"weak"', undefined),
  cuts: fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 4 }),
});

it('is whole in the end, and whole or absent in between, also when the file changes meanwhile', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(versions, { minLength: 1, maxLength: 3 }), async (series) => {
      const path = `/cut-${run++}.bin`;
      const into = join(tempDir(), 'file');
      const known = new Set<string>();
      let fetched: Awaited<ReturnType<typeof fetcher.toFile>> | null = null;
      for (const [index, { bytes, etag, cuts }] of series.entries()) {
        const content = Buffer.alloc(bytes, `version ${index} of ${path}\n`);
        known.add(createHash('sha256').update(content).digest('hex'));
        const whole = fileAnswer(content, etag === undefined ? {} : { etag: etag.replace('"', `"${index}`) });
        for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
          const isLast = cut === Number.POSITIVE_INFINITY;
          if (isLast && index < series.length - 1) break; // the file changes before it ever came whole
          server.on(path, cutAfter(cut, whole));
          const signal = new AbortController().signal;
          fetched = await fetcher
            .toFile(`${server.url}${path}`, into, { known: null, signal })
            .catch((error: unknown) => {
              expect(error).toBeInstanceOf(SourceUnreachableError);
              return null;
            });
          if (existsSync(into)) {
            expect(known).toContain(createHash('sha256').update(readFileSync(into)).digest('hex'));
          }
        }
        if (index === series.length - 1) {
          expect(fetched).toMatchObject({ status: 'fetched', bytes });
          expect(readFileSync(into).equals(content)).toBe(true);
          expect(readdirSync(join(into, '..'))).toEqual(['file']);
        }
      }
    }),
    { numRuns: draws(60) },
  );
});

it('is whole when two processes fetch it into one place, or one of them gives up', async () => {
  const others = [fetcher, new Fetcher({ ...policy })];
  const content = Buffer.alloc(400_000, 'one version of a table\n');
  const sha256 = createHash('sha256').update(content).digest('hex');
  for (let round = 0; round < 15; round++) {
    const path = `/two-${round}.bin`;
    const into = join(tempDir(), 'file');
    const whole = fileAnswer(content, { etag: '"two"' });
    // Both begin with what a broken fetch left, or with nothing.
    server.on(path, cutAfter(round * 20_000, whole));
    const get = (by: typeof fetcher) =>
      by.toFile(`${server.url}${path}`, into, { known: null, signal: new AbortController().signal });
    await get(fetcher).catch(() => undefined);
    server.on(path, whole);
    const results = await Promise.allSettled(others.map(get));
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(SourceUnreachableError);
      else expect(result.value).toMatchObject({ status: 'fetched', sha256 });
    }
    if (results.every(({ status }) => status === 'rejected')) await get(fetcher);
    expect(readFileSync(into).equals(content)).toBe(true);
  }
  await Promise.all(others.slice(1).map((other) => other.close()));
});
