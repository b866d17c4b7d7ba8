// One parser under fire, in its own thread; the case in hand lies in shared memory, so that it outlives a crash.
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { readWkt } from '../src/embedded-portal/content/geometry.ts';
import { parseForm, parseQuery } from '../src/embedded-portal/media/form.ts';
import { bodyParsers, chooseFormat, chooseParser } from '../src/embedded-portal/media/formats.ts';
import { parseJson } from '../src/embedded-portal/media/json.ts';
import { parsePhp } from '../src/embedded-portal/media/php.ts';
import { MalformedBody } from '../src/embedded-portal/media/value.ts';
import { parseXml } from '../src/embedded-portal/media/xml.ts';
import { parseYaml } from '../src/embedded-portal/media/yaml.ts';
import { chooseRecordedFormat } from '../src/embedded-portal/profiles/dkan/formats.ts';
import { refusedBodies, soundBodies } from '../test/support/attack-bodies.ts';

/** What a worker is told. */
export interface FuzzTask {
  parser: string;
  milliseconds: number;
  seed: number;
  slot: SharedArrayBuffer;
}

const longestBody = 200_000;

/** Size of the shared memory: number of the case, length of its body, the body. */
export const caseSlotBytes = 8 + longestBody;

/** The case in hand. */
export const readCase = (slot: SharedArrayBuffer): { count: number; body: Uint8Array } => {
  const [count = 0, length = 0] = new Uint32Array(slot, 0, 2);
  return { count, body: new Uint8Array(slot, 8, length).slice() };
};

const writeCase = (slot: SharedArrayBuffer, count: number, body: Uint8Array): void => {
  new Uint8Array(slot, 8).set(body);
  new Uint32Array(slot, 0, 2).set([count, body.length]);
};

interface Target {
  run: (body: Uint8Array) => unknown;
  corpus: string[];
  tokens: string[];
}

const text = (body: Uint8Array): string => Buffer.from(body).toString('utf8');
const small = (bodies: Record<string, string>): string[] =>
  Object.values(bodies).filter((body) => body.length <= longestBody / 4);

const formats = [
  'application/json, text/plain;q=0.5, */*',
  'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'multipart/form-data; boundary=x',
];

const targets: Record<string, Target> = {
  json: {
    run: parseJson,
    corpus: [soundBodies.json, ...small(refusedBodies.json)],
    tokens: ['{', '}', '[', ']', '"', ':', ',', '\\u0000', 'null', '1e9', '__proto__'],
  },
  php: {
    run: parsePhp,
    corpus: [soundBodies.php, ...small(refusedBodies.php)],
    tokens: ['a:1:{', 'i:0;', 's:1:"x";', 'N;', 'b:1;', 'd:', '}', 'O:', '9999999999', '";', 's:9:"__proto__";'],
  },
  yaml: {
    run: parseYaml,
    corpus: [soundBodies.yaml, ...small(refusedBodies.yaml)],
    tokens: [
      '&a ',
      '*a',
      '- ',
      '? ',
      ': ',
      '\n  ',
      '|\n',
      '>\n',
      '!!int ',
      '[',
      '{',
      '"',
      "'",
      '#',
      '%',
      '---\n',
      '<<: ',
    ],
  },
  xml: {
    run: parseXml,
    corpus: [soundBodies.xml, ...small(refusedBodies.xml)],
    tokens: [
      '<a>',
      '</a>',
      '<a/>',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '<?x ',
      '?>',
      '&amp;',
      '&#x',
      '"',
      ' is_raw="1"',
    ],
  },
  form: {
    run: (body) => [parseForm(body), parseQuery(text(body))],
    corpus: [
      'type=dataset&body[und][0][value]=a+%26+b',
      'a[]=1&a[]=2&a[b]=3',
      '__proto__[x]=1&constructor[prototype][x]=1',
    ],
    tokens: ['[', ']', '[und]', '=', '&', '%', '%5B', '[999999999]', '__proto__', '+', ';'],
  },
  headers: {
    run: (body) => [
      chooseRecordedFormat({ suffix: null, accept: text(body) }),
      chooseFormat({ suffix: text(body), accept: text(body) }),
      chooseParser(text(body), bodyParsers),
    ],
    corpus: formats,
    tokens: ['*', '/', ',', ';', 'q=', '0.', 'text/', 'application/', '*/*'],
  },
  wkt: {
    run: (body) => readWkt(text(body)),
    corpus: [
      'POLYGON ((0 0, 4 0, 4 4, 0 0), (1 1, 2 1, 2 2, 1 1))',
      'GEOMETRYCOLLECTION (POINT (1 2), LINESTRING (0 0, 1 1))',
      'MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)))',
      `${' '.repeat(50_000)}!`,
      `POINT (${'1 '.repeat(20_000)})`,
    ],
    tokens: ['(', ')', ',', ' ', '1e308', '-', '.', 'EMPTY', 'POINT', 'GEOMETRYCOLLECTION ('],
  },
};

/** Every parser that can be fuzzed. */
export const parserNames = Object.keys(targets);

/** Numbers from 0 up to, not including, `below`; the same for the same seed (mulberry32). */
const dice = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
};

type Roll = (below: number) => number;

const pick = <T>(roll: Roll, list: readonly T[], fallback: T): T => list[roll(list.length)] ?? fallback;

const mutations: ((body: Buffer, target: Target, roll: Roll) => Buffer)[] = [
  (body, _target, roll) => {
    const copy = Buffer.from(body);
    if (copy.length > 0) copy[roll(copy.length)] = roll(256);
    return copy;
  },
  (body, target, roll) => {
    const at = roll(body.length + 1);
    const token = Buffer.from(pick(roll, target.tokens, '').repeat(roll(20) === 0 ? 1 + roll(2000) : 1));
    return Buffer.concat([body.subarray(0, at), token, body.subarray(at)]);
  },
  (body, _target, roll) => {
    const from = roll(body.length + 1);
    return Buffer.concat([body.subarray(0, from), body.subarray(from + roll(20))]);
  },
  (body, _target, roll) => {
    const from = roll(body.length + 1);
    const part = body.subarray(from, from + roll(40));
    return Buffer.concat([
      body.subarray(0, from),
      ...Array.from({ length: 1 + roll(50) }, () => part),
      body.subarray(from),
    ]);
  },
  (body, _target, roll) => body.subarray(0, roll(body.length + 1)),
  (body, target, roll) => {
    const other = Buffer.from(pick(roll, target.corpus, ''));
    return Buffer.concat([body.subarray(0, roll(body.length + 1)), other.subarray(roll(other.length + 1))]);
  },
];

const nextCase = (target: Target, roll: Roll): Buffer => {
  let body = Buffer.from(pick(roll, target.corpus, ''));
  for (let i = roll(6); i >= 0; i -= 1)
    body = Buffer.from(mutations[roll(mutations.length)]?.(body, target, roll) ?? body);
  return body.subarray(0, longestBody);
};

const fuzz = ({ parser, milliseconds, seed, slot }: FuzzTask): number => {
  const target = targets[parser];
  if (target === undefined) throw new Error(`no parser ${parser}`);
  const roll = dice(seed);
  const end = Date.now() + milliseconds;
  let count = 0;
  while (Date.now() < end) {
    const body = nextCase(target, roll);
    count += 1;
    writeCase(slot, count, body);
    try {
      target.run(body);
    } catch (error) {
      if (!(error instanceof MalformedBody)) throw error;
    }
    if (({} as { isAdmin?: unknown }).isAdmin !== undefined)
      throw new Error('the prototype of all objects was changed');
  }
  return count;
};

if (!isMainThread) parentPort?.postMessage(fuzz(workerData as FuzzTask)); // set by fuzz.ts, which made this thread
