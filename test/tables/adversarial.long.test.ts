import { describe, expect, it } from 'vitest';
import type { Finding } from '../../src/tables/inspect/finding.ts';
import { tableInspection } from '../../src/tables/inspect/inspection.ts';
import { defaultRowBytes, rfc4180 } from '../../src/tables/scan/dialect.ts';
import { readTable } from '../../src/tables/scan/reader.ts';

const megabyte = 1024 * 1024;

/** Yields `start` and then `block` again and again up to `megabytes`, and `end`. */
function* stream({
  start = '',
  block,
  end = '',
  megabytes,
}: {
  start?: string;
  block: string;
  end?: string;
  megabytes: number;
}): Generator<Buffer> {
  if (start !== '') yield Buffer.from(start);
  const repeated = Buffer.from(block.repeat(Math.ceil((256 * 1024) / block.length)));
  for (let sent = 0; sent < megabytes * megabyte; sent += repeated.length) yield repeated;
  if (end !== '') yield Buffer.from(end);
}

/** Inspects what it is given; `held`: bytes of buffers that were in use at most, beyond those before. */
const inspect = (chunks: Iterable<Buffer>): { verdict: string; findings: Finding[]; held: number } => {
  const before = process.memoryUsage().arrayBuffers;
  const layout = { dialect: { ...rfc4180, delimiter: ',' as const }, titleRows: 0 };
  const table = { signature: null, layout, bom: false, decodedFrom: null, skipped: null };
  const how = { rowBytes: defaultRowBytes, isEncodingGiven: false, apart: new Set<number>() };
  const inspection = tableInspection({ ...table, ...how });
  let held = 0;
  for (const chunk of chunks) {
    inspection.feed(chunk);
    held = Math.max(held, process.memoryUsage().arrayBuffers - before);
  }
  const { verdict, findings } = inspection.end();
  return { verdict, findings, held };
};

const first = (findings: Finding[]) => findings.filter(({ code }) => code !== null)[0];

const attacks: [string, Parameters<typeof stream>[0], { code: string; line: number; column?: number }][] = [
  ['one line of 1 GB', { block: 'x', megabytes: 1000 }, { code: 'table-oversize', line: 1 }],
  ['one line of 200 MB of delimiters', { block: ',', megabytes: 200 }, { code: 'table-oversize', line: 1 }],
  ['200 MB of NUL bytes', { block: '\0', megabytes: 200 }, { code: 'table-oversize', line: 1 }],
  [
    'a quote that is open for 200 MB',
    { start: 'a,b\n1,"', block: 'x', megabytes: 200 },
    { code: 'table-oversize', line: 2, column: 2 },
  ],
  [
    'a cell of 50 MB',
    { start: 'a,b\n1,"', block: 'x', end: '"\n2,3\n', megabytes: 50 },
    { code: 'table-oversize', line: 2, column: 2 },
  ],
  [
    'a cell of 50 MB of line breaks',
    { start: 'a,b\n1,"', block: `${'x'.repeat(99)}\n`, end: '"\n2,3\n', megabytes: 50 },
    { code: 'table-oversize', line: 2, column: 2 },
  ],
  [
    'text behind every quote of one line',
    { start: 'a,b\n', block: '"a"b,', megabytes: 20 },
    { code: 'table-oversize', line: 2, column: 1 },
  ],
  ['nothing but quotes', { start: 'a,b\n', block: '"', megabytes: 50 }, { code: 'table-oversize', line: 2 }],
  [
    'an open quote in every line',
    { start: 'a,b\n', block: `1,"${'x'.repeat(40)}\n`, megabytes: 10 },
    { code: 'table-quote', line: 2, column: 2 },
  ],
  [
    'a quote that closes far below, again and again',
    { start: 'a,b\n', block: `1,"${'xxxxxxxxx\n'.repeat(10_000)}"y\n`, megabytes: 10 },
    { code: 'table-quote', line: 2, column: 2 },
  ],
];

describe('a malicious table', () => {
  it.each(attacks)('is reported as faulty in bounded memory: %s', (_, content, place) => {
    const { verdict, findings, held } = inspect(stream(content));
    expect(verdict).not.toBe('sound');
    const { code, line, column } = place;
    expect(first(findings)).toMatchObject({ code, places: expect.any(Array) });
    expect(first(findings)?.places[0]).toMatchObject({ line, column: column ?? null });
    expect(findings.every(({ places }) => places.length <= 10)).toBe(true);
    expect(held).toBeLessThan(64 * megabyte);
  });

  it('is reported as faulty in bounded memory: 100,000 columns', () => {
    const header = Array.from({ length: 100_000 }, (_, at) => `c${at}`).join(',');
    const row = `${'1,'.repeat(99_999)}1\n`;
    const { verdict, findings, held } = inspect([
      Buffer.from(`${header}\n`),
      ...Array.from({ length: 50 }, () => Buffer.from(row)),
    ]);
    expect(verdict).toBe('faulty');
    expect(first(findings)).toMatchObject({
      code: 'table-header',
      message: expect.stringContaining('100,000 columns'),
    });
    expect(held).toBeLessThan(64 * megabyte);
  });

  it.each(attacks)('stops an import at its first fault: %s', async (_, content) => {
    let read = 0;
    function* counted(): Generator<Buffer> {
      for (const chunk of stream(content)) {
        read += chunk.length;
        yield chunk;
      }
    }
    const all = async () => {
      for await (const _batch of readTable(counted(), rfc4180));
    };
    await expect(all()).rejects.toMatchObject({ name: 'TableFaultError' });
    expect(read).toBeLessThan(4 * megabyte);
  });
});
