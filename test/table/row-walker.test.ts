import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { rfc4180 } from '../../src/table/dialect.ts';
import { RowWalker } from '../../src/table/row-walker.ts';

/** Repeatable numbers from 0 to `below` - 1 (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed;
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
};

const verdict = (text: string, escapeWith: string): string | null => {
  try {
    parse(text, { escape: escapeWith, skip_empty_lines: true, record_delimiter: ['\r\n', '\n', '\r'] });
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
};

const codes: Record<string, string> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: 'table-ragged',
  CSV_QUOTE_NOT_CLOSED: 'table-quote',
  CSV_INVALID_CLOSING_QUOTE: 'table-quote',
  INVALID_OPENING_QUOTE: 'table-quote',
};

describe('the walker that tells places', () => {
  it.each([['"'], ['\\']])('agrees with csv-parse on random tables, escape %j', (escapeWith) => {
    const random = randomFrom(7);
    const letters = ['a', ',', '"', '\n', '\r', '\r\n', 'a,a\n', '"a",a\n', escapeWith];
    let faulty = 0;
    for (let round = 0; round < 20_000; round++) {
      let text = 'a,a\n';
      for (let n = random(12); n > 0; n--) text += letters[random(letters.length)];
      const walker = new RowWalker({ ...rfc4180, escape: escapeWith }, 1 << 20);
      walker.walk(Buffer.from(text));
      walker.end();
      const code = verdict(text, escapeWith);
      if (code !== null) faulty += 1;
      expect(walker.fault?.code ?? null, JSON.stringify(text)).toBe(code === null ? null : codes[code]);
    }
    expect(faulty).toBeGreaterThan(1000);
  });
});
