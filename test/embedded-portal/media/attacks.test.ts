// Bodies from strangers: every one is read or refused with `MalformedBody`, in bounded time, and changes nothing.

import { afterEach, describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/embedded-portal/media/json.ts';
import { parsePhp } from '../../../src/embedded-portal/media/php.ts';
import { type BodyParser, limits, MalformedBody } from '../../../src/embedded-portal/media/value.ts';
import { parseXml } from '../../../src/embedded-portal/media/xml.ts';
import { parseYaml } from '../../../src/embedded-portal/media/yaml.ts';
import { heavyBodies, refusedBodies, soundBodies } from '../../support/attack-bodies.ts';
import { draws, fc } from '../../support/extent.ts';

type Kind = keyof typeof soundBodies;
const parsers: Record<Kind, BodyParser<unknown>> = {
  php: parsePhp,
  yaml: parseYaml,
  xml: parseXml,
  json: parseJson,
};
const kinds: Kind[] = ['php', 'yaml', 'xml', 'json'];

/** So many levels. */
const nested: Record<Kind, (levels: number) => string> = {
  php: (levels) => `${'a:1:{i:0;'.repeat(levels - 1)}N;${'}'.repeat(levels - 1)}`,
  yaml: (levels) => '['.repeat(levels) + ']'.repeat(levels),
  xml: (levels) => '<a>'.repeat(levels) + '</a>'.repeat(levels),
  json: (levels) => '['.repeat(levels) + ']'.repeat(levels),
};

/** The value, or the error if it is the one that parsers may throw; any other error fails the test. */
const attempt = (kind: Kind, body: Uint8Array): unknown => {
  try {
    return parsers[kind](body);
  } catch (error) {
    if (error instanceof MalformedBody) return error;
    throw error;
  }
};

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
});

describe.each(kinds)('%s', (kind) => {
  const refused = Object.entries(refusedBodies[kind]);
  test.each(refused)('refuses %s', (_name, body) => {
    const fault = attempt(kind, Buffer.from(body));
    expect(fault).toBeInstanceOf(MalformedBody);
    expect(fault).toMatchObject({ message: expect.not.stringContaining('bytes; at most') });
  });

  // Runs against the test's own time limit, which is the bound.
  test.each(Object.entries(heavyBodies[kind]))(
    'comes to an end with %s',
    (_name, body) => {
      expect(() => attempt(kind, Buffer.from(body))).not.toThrow();
    },
    60_000,
  );

  test('reads as many levels as the limit says, and no more', () => {
    expect(attempt(kind, Buffer.from(nested[kind](limits.depth + 1)))).not.toBeInstanceOf(MalformedBody);
    expect(attempt(kind, Buffer.from(nested[kind](limits.depth + 2)))).toBeInstanceOf(MalformedBody);
  });

  test('refuses bytes that are not UTF-8', () => {
    const spoilt = Buffer.from(soundBodies[kind].replace('um', '\u00ff\u00ff'), 'latin1');
    expect(attempt(kind, spoilt)).toBeInstanceOf(MalformedBody);
  });

  test('reads or refuses every beginning of a sound body', () => {
    const whole = Buffer.from(soundBodies[kind]);
    expect(attempt(kind, whole)).not.toBeInstanceOf(MalformedBody);
    for (let end = 0; end < whole.length; end += 1) {
      const value = attempt(kind, whole.subarray(0, end));
      if (kind !== 'yaml' && end > 0) expect(value, `cut at byte ${end}`).toBeInstanceOf(MalformedBody);
    }
  });

  test('reads or refuses a sound body with any bytes changed', () => {
    const whole = Buffer.from(soundBodies[kind]);
    const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.oneof(fc.nat(255), fc.constantFrom(...whole)) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const spoilt = Buffer.from(whole);
        for (const { at, byte } of changes) spoilt[at] = byte;
        expect(() => attempt(kind, spoilt)).not.toThrow();
      }),
      { numRuns: draws(3000) },
    );
  });

  test('reads or refuses any bytes at all', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => attempt(kind, bytes)).not.toThrow();
      }),
      { numRuns: draws(2000) },
    );
  });

  test('has no value for an empty body', () => {
    expect(parsers[kind](new Uint8Array())).toBeNull();
  });
});
