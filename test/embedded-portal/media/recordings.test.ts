// Byte for byte against replies of deployed servers, where their recordings lie beside the project.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type FormatName, isFormatName, splitSuffix } from '../../../src/embedded-portal/media/formats.ts';
import type { ResultShape, Value } from '../../../src/embedded-portal/media/value.ts';
import { chooseRecordedFormat, recordedFormats } from '../../../src/embedded-portal/profiles/dkan/formats.ts';
import { isObject } from '../../../src/util/json.ts';

interface Step {
  label: string;
  request: { method: string; path: string; headers: [string, string][] };
  response?: { status: number; headers: [string, string][]; body?: string };
}

const folder = join(import.meta.dirname, '../../../../shared/spec/recordings');
const present = existsSync(folder);
const where = present ? '' : ' (skipped: the recordings are not there)';

const stepsOf = (file: string): Step[] => {
  const scenario = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { steps: Step[] };
  return scenario.steps.filter((step) => step.response !== undefined);
};

const headerOf = (headers: [string, string][], name: string): string | undefined =>
  headers.find(([key]) => key.toLowerCase() === name)?.[1];

// Values that differ between two replies only because time went by.
const volatileKeys = ['sessid', 'token', 'access', 'login', 'vid', 'log', 'vuuid', 'changed', 'revision_timestamp'];
const volatileResult = ['nid', 'uri', 'storage', 'data_import'];

type Compared = Exclude<FormatName, 'json' | 'jsonp'>;

const firstGroup = (pattern: RegExp, body: string): string | undefined =>
  pattern
    .exec(body)
    ?.slice(1)
    .find((group) => group !== undefined);

/** The scalar behind a key, as the body spells it. */
const finders: Record<Compared, (key: string, body: string) => string | undefined> = {
  xml: (key, body) => firstGroup(new RegExp(`<${key}>([^<]*)</${key}>`), body),
  yaml: (key, body) => firstGroup(new RegExp(`^\\s*${key}: "?([^"\\n]*)"?$`, 'm'), body),
  php: (key, body) => firstGroup(new RegExp(`"${key}";(?:s:\\d+:"([^"]*)"|i:(\\d+));`), body),
  bencode: (key, body) => {
    const found = new RegExp(`${key.length}:${key}(?:i(\\d+)e|(\\d+):)`).exec(body);
    if (found?.[2] === undefined) return found?.[1];
    const start = found.index + found[0].length;
    return body.slice(start, start + Number(found[2]));
  },
};

/** `value` with the volatile parts that stand in `body`. */
const refreshed = (value: Value, body: string, format: Compared, keys: string[]): Value => {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, part]): [string, Value] => {
    if (isObject(part)) return [key, key === 'user' ? refreshed(part, body, format, keys) : part];
    if (!keys.includes(key) || part === null || typeof part === 'object') return [key, part];
    const found = finders[format](key, body);
    if (found === undefined) return [key, part];
    return [key, typeof part === 'number' ? Number(found) : found];
  });
  return Object.fromEntries(entries);
};

const shapeOf = (label: string): ResultShape => {
  if (label.startsWith('login')) return 'login';
  return /^(?:dataset|resource|suffix)/.test(label) ? 'node' : 'plain';
};

const bare = (label: string): string => label.replace(/\.(?:json|xml|yaml|php|bencode|jsonp)\b.*/, '').trim();

interface Pair {
  title: string;
  format: Compared;
  value: Value;
  shape: ResultShape;
  body: string;
}

/** Every reply by suffix in another format than JSON, with the JSON reply of the same label. */
const pairsOf = (file: string): Pair[] => {
  const steps = stepsOf(file);
  const byLabel = new Map<string, string>();
  for (const step of steps) {
    if (/\.json\b/.test(step.label) && step.response?.body) byLabel.set(bare(step.label), step.response.body);
  }
  return steps.flatMap((step): Pair[] => {
    const format = splitSuffix(step.request.path.replace(/\?.*/, '').split('/').at(-1) ?? '').suffix ?? '';
    const json = byLabel.get(bare(step.label));
    const body = step.response?.body;
    if (json === undefined || body === undefined || !(format in finders)) return [];
    const written = format as Compared; // checked in the line above
    let value = JSON.parse(json) as Value;
    if (/^\[(?:true|".*")\]$/.test(json) && Array.isArray(value)) value = value[0] ?? null;
    if (/^list/.test(step.label)) return [];
    const keys = shapeOf(step.label) === 'plain' ? volatileResult : volatileKeys;
    const title = `${file}: ${step.label}`;
    return [{ title, format: written, value: refreshed(value, body, written, keys), shape: shapeOf(step.label), body }];
  });
};

const files = present
  ? ['read_formats', 'login_formats', 'logout_formats', 'datastore_formats'].map((name) => `7.18/${name}.json`)
  : [];
const pairs = files.flatMap(pairsOf);

describe.skipIf(!present)(`a reply in any format has the recorded bytes${where}`, () => {
  test('enough pairs of replies are there to compare', () => {
    expect(pairs.length).toBeGreaterThan(60);
  });

  test.each(pairs.map((pair): [string, Pair] => [pair.title, pair]))('%s', (_title, pair) => {
    const written = recordedFormats[pair.format].write(pair.value, { shape: pair.shape });
    expect(written).toBe(pair.body);
  });

  test('every JSON body is written back as it was read', () => {
    const bodies = files.flatMap(stepsOf).flatMap((step) => {
      const json = headerOf(step.response?.headers ?? [], 'content-type') === 'application/json';
      return json && step.response?.body ? [step.response.body] : [];
    });
    for (const body of bodies) {
      expect(recordedFormats.json.write(JSON.parse(body) as Value, { shape: 'plain' })).toBe(body);
    }
    expect(bodies.length).toBeGreaterThan(30);
  });
});

describe.skipIf(!present)(`the format of a reply is chosen as recorded${where}`, () => {
  const steps = present ? [...files, '7.18/curl_defaults.json'].flatMap(stepsOf) : [];
  test.each(steps.map((step): [string, Step] => [`${step.label} (${step.request.path})`, step]))('%s', (_t, step) => {
    const last = step.request.path.replace(/\?.*/, '').split('/').at(-1) ?? '';
    if (step.request.path.startsWith('/services/')) return;
    const { suffix } = splitSuffix(last);
    const accept = headerOf(step.request.headers, 'accept');
    const choice = chooseRecordedFormat({ suffix, accept });
    const sent = headerOf(step.response?.headers ?? [], 'content-type');
    if ('contentType' in choice) expect(choice.contentType).toBe(sent);
    else expect({ choice, sent }).toMatchObject({ sent: 'text/html; charset=UTF-8' });
    if ('unsupported' in choice) expect(step.response?.status).toBe(406);
    if ('malformed' in choice) expect(step.response?.status).toBe(500);
    if ('format' in choice) expect(isFormatName(choice.format)).toBe(true);
  });
});
