import { describe, expect, it } from 'vitest';
import { CatalogueFaultError } from '../../../src/model/errors.ts';
import { type CatalogueEntry, catalogueLimits, readCatalogue } from '../../../src/sources/catalogue/read-catalogue.ts';
import { chunksOf, collect } from './support/catalogue.ts';

const read = async (
  text: string | Uint8Array,
  size?: number,
  limits?: typeof catalogueLimits,
): Promise<CatalogueEntry[]> => collect(readCatalogue(chunksOf(text, size), 'a.json', { limits }));

const faultOf = async (text: string | Uint8Array, limits?: typeof catalogueLimits): Promise<CatalogueFaultError> => {
  const fault = await read(text, 7, limits).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(fault instanceof CatalogueFaultError)) throw new Error(`no fault of the catalogue: ${fault}`);
  return fault;
};

describe('the entries of a catalogue', () => {
  it('are the items of `dataset`, each with its place, whatever stands around them', async () => {
    const text =
      '{ "conformsTo": { "dataset": [1] },\n"x": [[{}]],\n"dataset": [\n  { "a": { "dataset": [2] } },\n  3 ],\n "dataset2": [4] }';
    for (const size of [1, 3, 1000]) {
      expect(await read(text, size)).toEqual([
        { index: 1, line: 4, isService: false, value: { a: { dataset: [2] } } },
        { index: 2, line: 5, isService: false, value: 3 },
      ]);
    }
  });

  it('are also the items of `service`, and those of nested catalogues at any depth', async () => {
    const inner = { service: [{ id: 5 }], dataset: [{ id: 6, hasPart: [{ dataset: [0] }] }], title: 'dataset' };
    const nested = { hasPart: [{ dataset: [{ id: 3 }] }, 'https://example.org', { title: 'x' }], catalog: inner };
    const text = JSON.stringify({ service: [{ id: 1 }], dataset: [{ id: 2 }], catalog: [nested, { dataset: [7] }] });
    for (const size of [1, 3, 1000]) {
      const entries = await read(text, size);
      expect(entries.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(entries.map(({ value }) => value)).toEqual([
        { id: 1 },
        { id: 2 },
        { id: 3 },
        ...inner.service,
        ...inner.dataset,
        7,
      ]);
      expect(entries.map(({ isService }) => isService)).toEqual([true, false, false, true, false, false]);
    }
  });

  it('are told apart from what is in other lists', async () => {
    const passed: string[] = [];
    const text =
      '{"record": [{"a": [{}]}, {}], "dataset": [{}], "words": ["x"], "catalog": ["urn:a", {"dataset": [], "theme": [{}]}], "b": {"c": [{}]}, "service": {}}';
    const entries = await collect(readCatalogue(chunksOf(text), 'a.json', { passedOver: (key) => passed.push(key) }));
    expect([entries.length, passed]).toEqual([1, ['record', 'record', 'theme', 'service']]);
  });

  it('may be none', async () => {
    expect(await read('{"dataset": []}')).toEqual([]);
  });

  it('come in UTF-8 with or without a byte order mark, letters of several bytes parted at any byte', async () => {
    for (const size of [1, 2, 5]) {
      expect(await read('\uFEFF{"dataset": [{"ä": "Müller 🌊"}]}', size)).toMatchObject([
        { value: { ä: 'Müller 🌊' } },
      ]);
    }
  });

  it('may have keys that are names of prototypes, which stay plain keys', async () => {
    const [entry] = await read('{"dataset": [{"__proto__": {"polluted": true}}]}');
    expect(Object.keys(entry?.value as object)).toEqual(['__proto__']);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('a catalogue that cannot be read', () => {
  it.each([
    ['{"dataset": [{"a": 1},\n]}', 'a.json:2:1: it is not JSON: "]" found where a value is expected'],
    ['{"dataset": [\n  {"ä": tru }\n]}', 'a.json:2:12: it is not JSON: unexpected " "'],
    ['{"dataset": [{"a" 1}]}', 'a.json:1:19: it is not JSON: 1 found where a colon is expected'],
    ['{"dataset": [] } x', 'a.json:1:18: it is not JSON: unexpected "x"'],
    ['<!DOCTYPE html>', 'a.json:1:1: it is not JSON: unexpected "<"'],
    ['', 'a.json:1:1: it is empty'],
    ['[{"a": 1}]', 'a.json:1:1: it is not a JSON object'],
    ['{"datasets": []}', 'a.json:1:16: it has no list `dataset`'],
    // At its opening bracket: what comes after it is not held.
    ['{"dataset": {"a": []}}', 'a.json:1:13: it has no list `dataset`'],
    ['{"dataset": [], "dataset": []}', 'a.json:1:28: it has two lists `dataset`'],
    ['{"catalog": [{"dataset": [], "dataset": []}]}', 'a.json:1:41: it has two lists `dataset`'],
    [
      '{"catalog": [{"dataset": [3 3]}]}',
      'a.json:1:29: it is not JSON: 3 found where a comma or a closing bracket is expected',
    ],
    ['{"dataset": [{}}]}', 'a.json:1:16: it is not JSON: "}" found where a comma or a closing bracket is expected'],
  ])('is told with the place: %j', async (text, message) => {
    const fault = await faultOf(text);
    expect(fault.message).toBe(message);
    expect(fault.message).toContain(`:${fault.line}:${fault.column}:`);
  });

  it('at whatever byte it was cut off', async () => {
    const text = '{"dataset": [{"a": "x"}, {"b": [1, true, null]}], "c": -1.5e3}';
    for (let length = 1; length < text.length; length++) {
      expect((await faultOf(text.slice(0, length))).message).toContain('it ends early');
    }
    expect((await faultOf(text.slice(0, 30))).message).toBe(
      'a.json:1:31: it ends early, in or after entry 2: 30 bytes were received, and it is incomplete',
    );
  });

  it('is not UTF-8', async () => {
    expect((await faultOf(Buffer.from('{"dataset": [{"a": "Stra\xdfe"}]}', 'latin1'))).message).toContain(
      'not valid UTF-8',
    );
  });
});

describe('limits', () => {
  const limits: typeof catalogueLimits = { depth: 5, entryValues: 10, entryBytes: 200, entries: 3 };

  it.each([
    ['nesting', `{"dataset": [{"a": ${'['.repeat(50)}`, 'more than 5 levels deep'],
    ['nesting outside of the entries', `{"x": ${'{"a":'.repeat(50)}`, 'more than 5 levels deep'],
    ['many values', `{"dataset": [{"a": [${'[],'.repeat(50)}`, 'entry 1 has more than 10 values'],
    [
      'a long entry',
      `{"dataset": [{"a": ${JSON.stringify(Array(3).fill('x'.repeat(90)))}`,
      'entry 1 is longer than 200 bytes',
    ],
    ['a long text', `{"dataset": [{"a": "${'x'.repeat(500)}`, 'a text or number is longer than 200 bytes'],
    ['a long text outside of the entries', `{"x": "${'x'.repeat(500)}`, 'a text or number is longer than 200 bytes'],
    ['many entries', '{"dataset": [{}, {}, {}, {}', 'more than 3 entries'],
  ])('are told before the end is read: %s', async (_what, text, message) => {
    expect((await faultOf(text, limits)).message).toContain(message);
  });

  it('count values, not the names and signs around them', async () => {
    expect(await read('{"dataset": [{"a": {"b": 3}, "c": [5, "6", null, true, 9, 10]}]}', 16, limits)).toHaveLength(1);
    const { message } = await faultOf('{"dataset": [{"a": {"b": 3}, "c": [5, "6", null, true, 9, 10, 11]}]}', limits);
    expect(message).toContain('entry 1 has more than 10 values');
  });

  it('stop a catalogue nested a hundred thousand times at once', async () => {
    let read = 0;
    const nested = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"dataset": [');
      for (; read < 100_000; read++) yield Buffer.from('[{"a":'.repeat(100));
    };
    await expect(collect(readCatalogue(nested(), 'a.json'))).rejects.toThrow(
      `more than ${catalogueLimits.depth} levels deep`,
    );
    expect(read).toBeLessThan(3);
  });

  it('let a catalogue pass whose entries are many and large elsewhere', async () => {
    const text = JSON.stringify({ x: Array(100).fill([1]), dataset: [{ a: 'x'.repeat(150) }, { a: 'y'.repeat(150) }] });
    expect(await read(text, 16, limits)).toHaveLength(2);
  });
});
