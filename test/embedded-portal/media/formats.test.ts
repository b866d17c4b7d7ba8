import { describe, expect, test } from 'vitest';
import {
  bodyParsers,
  chooseFormat,
  chooseParser,
  formatChooser,
  matchMime,
  mimeTypes,
  splitSuffix,
} from '../../../src/embedded-portal/media/formats.ts';
import { chooseRecordedFormat } from '../../../src/embedded-portal/profiles/dkan/formats.ts';
import { fc } from '../../support/extent.ts';

/** The recorded rules with the answer of `spec` to an open choice. */
const openChooser = formatChooser({ any: 'json', match: (accept) => matchMime(accept, mimeTypes) });

const byAccept = (accept: string | undefined, choose = openChooser): unknown => choose({ suffix: null, accept });
const bySuffix = (suffix: string, accept?: string): unknown => chooseFormat({ suffix, accept });
const chosen = (format: string, contentType: string): unknown => ({ format, contentType });

describe('a suffix', () => {
  test.each([
    ['json', 'application/json'],
    ['xml', 'application/xml'],
    ['yaml', 'text/plain;charset=UTF-8'],
    ['php', 'application/vnd.php.serialized'],
    ['bencode', 'application/x-bencode'],
    ['jsonp', 'text/javascript;charset=UTF-8'],
  ])('.%s is sent as %s whatever Accept says', (suffix, contentType) => {
    expect(bySuffix(suffix, 'image/png')).toEqual({ format: suffix, contentType });
  });

  test.each(['foo', 'JSON', 'yml', '5', 'html', 'constructor'])('.%s is refused', (suffix) => {
    expect(bySuffix(suffix, 'application/json')).toEqual({ unsupported: true });
  });

  test('is what is behind the last dot; an empty one and 0 are none', () => {
    expect(['7', '7.json', '7.json.xml', '7.', '7.0', '7.5', '.json'].map(splitSuffix)).toEqual([
      { name: '7', suffix: null },
      { name: '7', suffix: 'json' },
      { name: '7.json', suffix: 'xml' },
      { name: '7', suffix: null },
      { name: '7', suffix: null },
      { name: '7', suffix: '5' },
      { name: '', suffix: 'json' },
    ]);
  });
});

describe('an Accept header', () => {
  test.each([
    ['application/json', 'json', 'application/json'],
    ['application/json; charset=utf-8', 'json', 'application/json'],
    ['application/xml', 'xml', 'application/xml'],
    ['application/xml;level=1', 'xml', 'application/xml'],
    ['text/xml', 'xml', 'text/xml;charset=UTF-8'],
    ['text/plain', 'yaml', 'text/plain;charset=UTF-8'],
    ['application/x-yaml', 'yaml', 'application/x-yaml'],
    ['text/yaml', 'yaml', 'text/yaml;charset=UTF-8'],
    ['application/vnd.php.serialized', 'php', 'application/vnd.php.serialized'],
    ['application/x-bencode', 'bencode', 'application/x-bencode'],
    ['text/javascript', 'jsonp', 'text/javascript;charset=UTF-8'],
    ['application/javascript', 'jsonp', 'application/javascript'],
    ['text/*', 'yaml', 'text/yaml;charset=UTF-8'],
    ['application/*', 'xml', 'application/xml'],
  ])('%s chooses %s, sent as %s', (accept, format, contentType) => {
    expect(byAccept(accept)).toEqual(chosen(format, contentType));
  });

  test('q decides only among types that fit equally', () => {
    expect(byAccept('application/json;q=0.5, application/xml')).toEqual(chosen('xml', 'application/xml'));
    expect(byAccept('application/xml;q=0.2, application/json;q=0.9')).toEqual(chosen('json', 'application/json'));
    expect(byAccept('application/json;q=0.1, text/*')).toEqual(chosen('json', 'application/json'));
    expect(byAccept('text/html, application/xml;q=0.1')).toEqual(chosen('xml', 'application/xml'));
  });

  test('q=0, an impossible and an unreadable q count as 1', () => {
    expect(byAccept('application/json;q=0')).toEqual(chosen('json', 'application/json'));
    expect(byAccept('application/json;q=0, application/xml;q=0.9')).toEqual(chosen('json', 'application/json'));
    expect(byAccept('application/json;q=7, application/xml;q=0.9')).toEqual(chosen('json', 'application/json'));
    expect(byAccept('application/json;q=x, application/xml;q=0.9')).toEqual(chosen('json', 'application/json'));
  });

  test('among equals the alphabetically last name wins', () => {
    expect(byAccept('application/json, text/plain, */*')).toEqual(chosen('yaml', 'text/plain;charset=UTF-8'));
    expect(byAccept('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')).toEqual(
      chosen('xml', 'application/xml'),
    );
  });

  test.each(['text/html', 'image/png', 'APPLICATION/JSON', 'image/*'])('%s is refused', (accept) => {
    expect(byAccept(accept)).toEqual({ unsupported: true });
  });

  test('with a range that is no MIME type is malformed', () => {
    expect(byAccept('json')).toEqual({ malformed: 'json' });
    expect(byAccept('application/json, xml;q=1')).toEqual({ malformed: 'xml;q=1' });
  });

  test('may have empty elements', () => {
    expect(byAccept(', application/json,')).toEqual(chosen('json', 'application/json'));
  });

  test('of any text never throws and always gives one of the three answers', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (accept, suffix) => {
        for (const choice of [byAccept(accept), bySuffix(suffix)]) {
          expect(choice).toSatisfy((c: object) => 'format' in c || 'unsupported' in c || 'malformed' in c);
        }
      }),
    );
  });
});

describe('a request that leaves the format open', () => {
  const open = [undefined, '', '  ', '*/*', '*', 'image/png, */*;q=0.1'];

  test('gets JSON under the specification', () => {
    for (const accept of open) expect(byAccept(accept)).toEqual(chosen('json', 'application/json'));
  });

  test('gets JSON without Accept and YAML for */* from deployed servers', () => {
    const answers = open.map((accept) => byAccept(accept, chooseRecordedFormat));
    const json = chosen('json', 'application/json');
    const yaml = chosen('yaml', 'text/yaml;charset=UTF-8');
    expect(answers).toEqual([json, json, json, yaml, yaml, yaml]);
  });
});

describe('an Accept header under spec', () => {
  const asked = (accept: string): unknown => chooseFormat({ suffix: null, accept });
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

  test.each([
    ['axios', 'application/json, text/plain, */*'],
    ['httr', 'application/json, text/xml, application/xml, */*'],
    ['a browser', browser],
    ['another case', 'Application/JSON'],
  ])('of %s chooses JSON', (_who, accept) => {
    expect(asked(accept)).toEqual(chosen('json', 'application/json'));
  });

  test('that names another type alone, or with a higher q, chooses that', () => {
    expect(asked('application/xml')).toEqual(chosen('xml', 'application/xml'));
    expect(asked('application/json;q=0.5, application/xml')).toEqual(chosen('xml', 'application/xml'));
    expect(asked('text/plain')).toEqual(chosen('yaml', 'text/plain;charset=UTF-8'));
  });
});

const table = { ...bodyParsers, 'multipart/form-data': 'stream' };
const typeFor = (contentType: string | undefined): unknown => {
  const choice = chooseParser<unknown>(contentType, table);
  return 'parser' in choice ? choice.type : choice;
};

test('each content type of the specification has a reader', () => {
  for (const type of [
    'application/json',
    'application/vnd.php.serialized',
    'application/x-www-form-urlencoded',
    'application/x-yaml',
    'application/xml',
    'multipart/form-data',
    'text/xml',
  ]) {
    expect(typeFor(type)).toBe(type);
  }
});

test('parameters are ignored and a missing or empty type is form-encoded', () => {
  expect(typeFor('application/json; charset=UTF-8')).toBe('application/json');
  expect(typeFor('multipart/form-data; boundary=----x')).toBe('multipart/form-data');
  expect([undefined, '', ' '].map(typeFor)).toEqual(
    Array.from({ length: 3 }, () => 'application/x-www-form-urlencoded'),
  );
});

test('an unknown type, or one in another case, is refused by name', () => {
  expect(typeFor('text/plain; charset=UTF-8')).toEqual({ unsupported: 'text/plain' });
  expect(typeFor('APPLICATION/JSON')).toEqual({ unsupported: 'APPLICATION/JSON' });
  expect(typeFor('constructor/x')).toEqual({ unsupported: 'constructor/x' });
});

test('wildcards choose the alphabetically last type', () => {
  expect(typeFor('*/*')).toBe('text/xml');
  expect(typeFor('application/*')).toBe('application/xml');
});

test('a type without a slash is malformed', () => {
  expect(typeFor('json')).toEqual({ malformed: 'json' });
});

test('the readers of one table give the same tree for the same data in every type', () => {
  const tree = { type: 'dataset', body: { und: [{ value: 'a & b' }] } };
  const bodies: Record<string, string> = {
    'application/json': JSON.stringify(tree),
    'application/vnd.php.serialized':
      'a:2:{s:4:"type";s:7:"dataset";s:4:"body";a:1:{s:3:"und";a:1:{i:0;a:1:{s:5:"value";s:5:"a & b";}}}}',
    'application/x-www-form-urlencoded': 'type=dataset&body[und][0][value]=a+%26+b',
    'application/x-yaml': 'type: dataset\nbody:\n  und:\n    - value: a & b\n',
    'application/xml':
      '<n><type>dataset</type><body><und is_array="true"><item><value>a &amp; b</value></item></und></body></n>',
  };
  for (const [type, body] of Object.entries(bodies)) {
    expect(bodyParsers[type]?.(Buffer.from(body)), type).toEqual(tree);
  }
});
