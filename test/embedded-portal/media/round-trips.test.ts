// What a writer writes, a reader reads back: over generated values, for every format that has a reader.
import { XMLParser } from 'fast-xml-parser';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { writeBencode } from '../../../src/embedded-portal/media/bencode.ts';
import { parseJson, writeJson, writeJsonp } from '../../../src/embedded-portal/media/json.ts';
import { parsePhp, writePhp } from '../../../src/embedded-portal/media/php.ts';
import type { Value } from '../../../src/embedded-portal/media/value.ts';
import { parseXml, writeXml } from '../../../src/embedded-portal/media/xml.ts';
import { parseYaml, writeYaml } from '../../../src/embedded-portal/media/yaml.ts';
import { keylessFormats, recordedFormats } from '../../../src/embedded-portal/profiles/dkan/formats.ts';
import { isObject } from '../../../src/util/json.ts';
import { anyValue, awkwardText, valuesOver } from '../../support/api-values.ts';
import { readBencode } from '../../support/bencode-reader.ts';
import { draws, fc } from '../../support/extent.ts';

const runs = { numRuns: draws(2000) };
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

/** The value as it looks after a trip, `scalar` telling what becomes of each scalar, `empty` of empty containers. */
const mapped = (value: Value, scalar: (leaf: Value) => Value, container: (whole: Value) => Value): Value => {
  if (Array.isArray(value)) return container(value.map((item) => mapped(item, scalar, container)));
  if (!isObject(value)) return scalar(value);
  const entries = Object.entries(value).map(([key, part]): [string, Value] => [key, mapped(part, scalar, container)]);
  return container(Object.fromEntries(entries));
};

const wellFormed = (leaf: Value): Value => (typeof leaf === 'string' ? leaf.toWellFormed() : leaf);
const same = (whole: Value): Value => whole;
const wrapped = (value: Value): Value => (value === null || typeof value === 'object' ? value : [value]);
const isEmpty = (value: Value): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** What becomes of a scalar in bencode, which has texts and integers only. */
const asBencode = (leaf: Value): Value => {
  if (leaf === null) return '';
  if (typeof leaf === 'boolean') return leaf ? 1 : 0;
  if (typeof leaf === 'number') return Number.isInteger(leaf) ? leaf : String(leaf);
  return typeof leaf === 'string' && /^(?:0|[1-9]\d*)$/.test(leaf) ? Number(leaf) : wellFormed(leaf);
};

/** XML holds no control characters but three, and neither of the two last code points of the plane. */
const isSpeakable = (char: string): boolean => {
  const code = char.codePointAt(0) ?? 0;
  return code < 32 ? '\t\n\r'.includes(char) : code !== 0xfffe && code !== 0xffff;
};

const speakable = (text: string): string => Array.from(text, (char) => (isSpeakable(char) ? char : '\ufffd')).join('');

describe('a round trip keeps every value', () => {
  test('JSON', () => {
    fc.assert(
      fc.property(
        anyValue.filter((value) => value !== null),
        (value) => {
          expect(parseJson(bytes(writeJson(value)))).toEqual(wrapped(value));
        },
      ),
      runs,
    );
  });

  test('JSON, in pure ASCII', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(writeJson(value)).toMatch(/^\p{ASCII}*$/u);
      }),
      runs,
    );
  });

  test('JSONP, called as a script', () => {
    fc.assert(
      fc.property(anyValue, fc.string(), (value, name) => {
        const script = writeJsonp(value, { callback: `cb${name}` });
        const json = /^[A-Za-z0-9_.-]{1,60}\((.*)\);$/.exec(script)?.[1] ?? '';
        expect(JSON.parse(json)).toEqual(JSON.parse(writeJson(value)));
      }),
      runs,
    );
  });

  test('PHP, where a list and a map with keys 0, 1, 2 … are one', () => {
    const listed = (whole: Value): Value => {
      if (!isObject(whole)) return whole;
      return Object.keys(whole).every((key, i) => key === String(i)) ? Object.values(whole) : whole;
    };
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(parsePhp(bytes(writePhp(value, 'plain')))).toEqual(mapped(value, wellFormed, listed));
      }),
      runs,
    );
  });

  test('YAML in the sound style, by js-yaml and by our own reader', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const yaml = writeYaml(value);
        const expected = isEmpty(value) ? null : mapped(wrapped(value), wellFormed, same);
        expect(load(yaml)).toEqual(expected);
        expect(parseYaml(bytes(yaml))).toEqual(expected);
      }),
      runs,
    );
  });

  test('bencode, where digits are integers and nulls empty texts', () => {
    const listed = (whole: Value): Value => {
      if (!isObject(whole)) return whole;
      return Object.keys(whole).every((key) => /^(?:0|-?[1-9]\d*)$/.test(key)) ? Object.values(whole) : whole;
    };
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(readBencode(bytes(writeBencode(value)))).toEqual(mapped(value, asBencode, listed));
      }),
      runs,
    );
  });

  // XML knows texts only, and its names are narrower than keys.
  const xmlKey = fc.stringMatching(/^[a-z_][a-z0-9_]{0,6}$/).filter((name) => name !== '__proto__');
  const xmlText = awkwardText.map((text) => text.toWellFormed());
  const xmlValue = valuesOver(xmlText, xmlKey);
  const readAsText = (leaf: Value): Value => (typeof leaf === 'string' ? speakable(leaf) : leaf);

  test('XML, where empty lists and maps become the empty text', () => {
    fc.assert(
      fc.property(xmlValue, (value) => {
        const expected = mapped(value, readAsText, (whole) => (isEmpty(whole) ? '' : whole));
        expect(parseXml(bytes(writeXml(value)))).toEqual(expected);
      }),
      runs,
    );
  });

  test('XML of one text, by fast-xml-parser', () => {
    const parser = new XMLParser({ trimValues: false, parseTagValue: false, htmlEntities: true });
    fc.assert(
      fc.property(
        xmlText.filter((text) => !text.includes('\r')),
        (text) => {
          expect(parser.parse(writeXml({ a: text }))).toMatchObject({ result: { a: speakable(text) } });
        },
      ),
      runs,
    );
  });
});

describe('the recorded style', () => {
  test('differs from the sound style in YAML only where a reader would not get the value back', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const recorded = recordedFormats.yaml.write(value, { shape: 'plain' });
        if (recorded === writeYaml(value)) {
          expect(parseYaml(bytes(recorded))).toEqual(isEmpty(value) ? null : mapped(wrapped(value), wellFormed, same));
        }
      }),
      runs,
    );
  });

  test('never fails, whatever the value', () => {
    const shapes = fc.constantFrom(
      'plain' as const,
      'object' as const,
      'node' as const,
      'rows' as const,
      'login' as const,
    );
    fc.assert(
      fc.property(anyValue, shapes, (value, shape) => {
        const { yaml, php, bencode, xml } = recordedFormats;
        expect(yaml.write(value, { shape })).toMatch(/^---\n/);
        expect(php.write(value, { shape })).toMatch(/[;}]$/);
        expect(bencode.write(value, { shape })).toEqual(expect.any(String));
        for (const { write } of [xml, keylessFormats.xml]) {
          expect(write(value, { shape })).toMatch(/^<\?xml version="1.0" encoding="utf-8"\?>\n<result/);
        }
      }),
      runs,
    );
  });
});
