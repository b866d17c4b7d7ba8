// Readers that nobody here wrote take back what our writers write.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeJson } from '../../../src/embedded-portal/media/json.ts';
import { parsePhp, writePhp } from '../../../src/embedded-portal/media/php.ts';
import type { Value } from '../../../src/embedded-portal/media/value.ts';
import { writeXml } from '../../../src/embedded-portal/media/xml.ts';
import { writeYaml } from '../../../src/embedded-portal/media/yaml.ts';
import { isObject } from '../../../src/util/json.ts';
import { anyScalar, awkwardText, valuesOver } from '../../support/api-values.ts';
import { draws, fc } from '../../support/extent.ts';
import { tempDir } from '../../support/temp-dir.ts';

const runs = (command: string, args: string[]): boolean => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
const havePhp = runs('php', ['-r', 'exit(0);']);
const havePython = runs('python3', ['-c', 'import json, xml.etree.ElementTree']);
const haveYaml = runs('python3', ['-c', 'import yaml']);
const haveXmllint = runs('xmllint', ['--version']);
const because = (have: boolean, what: string): string => (have ? '' : ` (skipped: ${what} is not there)`);

const wellFormed = (text: string): string => text.toWellFormed();

/** The value without lone surrogates, and with lists for maps with keys 0, 1, 2 … (PHP does not tell them apart). */
const asSent = (value: Value, php: boolean): Value => {
  if (typeof value === 'string') return wellFormed(value);
  if (Array.isArray(value)) return value.map((item) => asSent(item, php));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]): [string, Value] => [key, asSent(part, php)]);
  const listed = php && entries.every(([key], i) => key === String(i));
  return listed ? entries.map(([, part]) => part) : Object.fromEntries(entries);
};

const integers = anyScalar.filter((scalar) => typeof scalar !== 'number' || Number.isSafeInteger(scalar));
const containers = valuesOver(integers).filter((value) => typeof value === 'object' && value !== null);
// A fixed seed: the other program is started once for all values, so nothing could be shrunk anyway.
const values = fc.sample(containers, { numRuns: draws(1500), seed: 4711 });

/** Runs a program over documents; it prints one JSON text a line, in the same order. */
const readBy = (command: string, args: string[], documents: string[]): unknown[] => {
  const input = documents.map((text) => Buffer.from(text, 'utf8').toString('base64')).join('\n');
  const child = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 100_000_000 });
  expect(child.stderr).toBe('');
  return child.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
};

const python = (body: string): string[] => [
  '-c',
  `import sys, json, base64\n${body}\nfor line in sys.stdin:\n    print(json.dumps(read(base64.b64decode(line))))\n`,
];

test.skipIf(!havePhp)(`PHP's unserialize reads our PHP${because(havePhp, 'php')}`, () => {
  const script =
    'while (($line = fgets(STDIN)) !== false) { $v = unserialize(base64_decode($line)); ' +
    'echo json_encode($v, JSON_INVALID_UTF8_SUBSTITUTE), "\\n"; }';
  const read = readBy(
    'php',
    ['-r', script],
    values.map((value) => writePhp(value, 'plain')),
  );
  expect(read).toEqual(values.map((value) => asSent(value, true)));
});

test.skipIf(!havePhp)(`our reader reads what PHP's serialize writes${because(havePhp, 'php')}`, () => {
  const script =
    'while (($line = fgets(STDIN)) !== false) { $v = json_decode(base64_decode($line), true); ' +
    'echo json_encode(base64_encode(serialize($v))), "\\n"; }';
  const sent = values.map((value) => asSent(value, true));
  const bodies = readBy('php', ['-r', script], sent.map(writeJson));
  expect(bodies.map((body) => parsePhp(Buffer.from(String(body), 'base64')))).toEqual(sent);
});

test.skipIf(!havePhp)(`PHP sees an object where a shape says so${because(havePhp, 'php')}`, () => {
  const script = 'echo json_encode(get_class(unserialize(base64_decode(fgets(STDIN))))), "\\n";';
  const node = writePhp({ nid: '1' }, 'node');
  expect(readBy('php', ['-r', script], [node])).toEqual(['stdClass']);
});

test.skipIf(!haveYaml)(`PyYAML, a reader of YAML 1.1, reads our sound YAML${because(haveYaml, 'PyYAML')}`, () => {
  const script = python('import yaml\ndef read(data): return yaml.safe_load(data.decode("utf-8"))');
  const read = readBy(
    'python3',
    script,
    values.map((value) => writeYaml(value)),
  );
  const expected = values.map((value) => (Object.keys(value ?? {}).length === 0 ? null : asSent(value, false)));
  expect(read).toEqual(expected);
});

test.skipIf(!havePython)(`Python's json reads our JSON${because(havePython, 'python3')}`, () => {
  const read = readBy('python3', python('def read(data): return json.loads(data)'), values.map(writeJson));
  expect(read).toEqual(values);
});

describe('XML', () => {
  const xmlKey = fc.stringMatching(/^[a-z_][a-z0-9_]{0,6}$/).filter((name) => name !== '__proto__');
  // Blank text would be lost on the other side, where blanks between elements are dropped.
  const xmlValues = fc.sample(
    valuesOver(
      awkwardText.map((text) => `.${wellFormed(text)}.`),
      xmlKey,
    ),
    {
      numRuns: draws(1500),
      seed: 4712,
    },
  );
  const documents = xmlValues.map((value) => writeXml(value));

  test.skipIf(!havePython)(`Python's ElementTree reads our XML${because(havePython, 'python3')}`, () => {
    const script = python(`import xml.etree.ElementTree as E
def value(e):
    if e.get('is_array'): return [value(c) for c in e]
    if len(e): return {c.tag: value(c) for c in e}
    return e.text or ''
def read(data): return value(E.fromstring(data))`);
    const speak = (text: string): string =>
      Array.from(text, (char) => {
        const code = char.codePointAt(0) ?? 0;
        return (code < 32 && !'\t\n\r'.includes(char)) || code === 0xfffe || code === 0xffff ? '\ufffd' : char;
      }).join('');
    const sent = (value: Value): Value => {
      if (typeof value === 'string') return speak(value);
      if (value === null || typeof value !== 'object' || Object.keys(value).length === 0) return '';
      if (Array.isArray(value)) return value.map(sent);
      return Object.fromEntries(Object.entries(value).map(([key, part]): [string, Value] => [key, sent(part)]));
    };
    expect(readBy('python3', script, documents)).toEqual(xmlValues.map(sent));
  });

  test.skipIf(!haveXmllint)(`libxml2 finds our XML well-formed${because(haveXmllint, 'xmllint')}`, () => {
    const folder = tempDir();
    const files = documents.slice(0, 300).map((text, i) => {
      const file = join(folder, `${i}.xml`);
      writeFileSync(file, text);
      return file;
    });
    const child = spawnSync('xmllint', ['--noout', '--nonet', ...files], { encoding: 'utf8' });
    expect({ status: child.status, stderr: child.stderr }).toEqual({ status: 0, stderr: '' });
  });
});
