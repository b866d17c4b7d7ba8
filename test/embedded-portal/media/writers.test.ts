// The bytes of each response format, in the shapes that deployed servers were seen to send.
import { describe, expect, test } from 'vitest';
import { writeBencode } from '../../../src/embedded-portal/media/bencode.ts';
import { formats } from '../../../src/embedded-portal/media/formats.ts';
import { writeJson, writeJsonp } from '../../../src/embedded-portal/media/json.ts';
import { writePhp } from '../../../src/embedded-portal/media/php.ts';
import type { Value } from '../../../src/embedded-portal/media/value.ts';
import { writeXml } from '../../../src/embedded-portal/media/xml.ts';
import { recordedFormats } from '../../../src/embedded-portal/profiles/dkan/formats.ts';

const tree: Value = {
  nid: '12',
  title: 'Bäume & "Blätter"',
  log: '',
  data: null,
  login: 1700000000,
  field_tags: { und: [{ tid: '4' }, { tid: '7' }] },
  field_topic: [],
};

const date = {
  granularity: ['year'],
  errors: [],
  timeOnly: false,
  originalTime: '2020-02-01T00:00:00+00:00',
  timezone_type: 3,
  timezone: 'UTC',
};

describe('JSON', () => {
  test('has no blanks, bare slashes and \\uXXXX in lower case for everything above ASCII', () => {
    expect(writeJson(tree)).toBe(
      '{"nid":"12","title":"B\\u00e4ume & \\"Bl\\u00e4tter\\"","log":"","data":null,"login":1700000000,' +
        '"field_tags":{"und":[{"tid":"4"},{"tid":"7"}]},"field_topic":[]}',
    );
    expect(writeJson({ uri: 'http://x.test/a', face: '😀' })).toBe('{"uri":"http://x.test/a","face":"\\ud83d\\ude00"}');
  });

  test('wraps a scalar, but not null, in a list of one', () => {
    expect([true, false, 5, 'no', null].map(writeJson)).toEqual(['[true]', '[false]', '[5]', '["no"]', 'null']);
  });
});

describe('JSONP', () => {
  test('is plain JSON without a callback parameter', () => {
    expect(writeJsonp({ a: 1 }, {})).toBe('{"a":1}');
  });

  test('calls the function with everything but letters, digits, _, . and - taken out of its name', () => {
    expect(writeJsonp(['x'], { callback: 'my.cb_1-2' })).toBe('my.cb_1-2(["x"]);');
    expect(writeJsonp(['x'], { callback: 'alert("1");<b>\u2028[0]' })).toBe('alert1b0(["x"]);');
  });

  test('cuts the name to 60 characters', () => {
    expect(writeJsonp(1, { callback: 'q'.repeat(61) })).toBe(`${'q'.repeat(60)}([1]);`);
  });

  test('has an empty name for an empty or a non-text callback', () => {
    expect([writeJsonp({}, { callback: '' }), writeJsonp({}, { callback: ['a'] })]).toEqual(['({});', '({});']);
  });
});

describe('XML', () => {
  const inside = (value: Value): string => writeXml(value).slice('<?xml version="1.0" encoding="utf-8"?>\n'.length, -1);

  test('has elements for keys, is_array and item for lists, short tags for null and empty', () => {
    expect(writeXml(tree)).toBe(
      '<?xml version="1.0" encoding="utf-8"?>\n<result><nid>12</nid><title>Bäume &amp; "Blätter"</title><log></log>' +
        '<data/><login>1700000000</login><field_tags><und is_array="true"><item><tid>4</tid></item><item><tid>7</tid>' +
        '</item></und></field_tags><field_topic/></result>\n',
    );
  });

  test('writes true as 1, false as the empty text, a scalar straight into the root', () => {
    expect(inside({ a: true, b: false })).toBe('<result><a>1</a><b></b></result>');
    expect(['x < y', true, null, []].map((value) => inside(value))).toEqual([
      '<result>x &lt; y</result>',
      '<result>1</result>',
      '<result/>',
      '<result/>',
    ]);
  });

  test('makes items of numeric keys, which only alone are a list', () => {
    expect(inside({ r: { 2: 'a', 6: 'b' } })).toBe(
      '<result><r is_array="true"><item>a</item><item>b</item></r></result>',
    );
    expect(inside({ r: { 2: 'a', x: 'b' } })).toBe('<result><r><item>a</item><x>b</x></r></result>');
  });

  test('makes element names of any key', () => {
    expect(inside({ '2fast': 1, 'a b:c': 2, ü: 3, '': 4 })).toBe(
      '<result><_2fast>1</_2fast><a_b_c>2</a_b_c><__>3</__><_>4</_></result>',
    );
  });

  test('replaces what XML cannot hold and keeps carriage returns', () => {
    expect(inside({ a: 'x\u0000\u0008\ud800y\ufffe\r\n\t]]>' })).toBe(
      '<result><a>x\ufffd\ufffd\ufffdy\ufffd&#13;\n\t]]&gt;</a></result>',
    );
  });
});

describe('PHP', () => {
  test('serialises arrays with lengths in bytes and canonical integers as integer keys', () => {
    expect(writePhp({ t: 'ü', n: null, b: [true, false], r: { 2: 'x' }, '-0': 1.5 }, 'plain')).toBe(
      'a:5:{s:1:"t";s:2:"ü";s:1:"n";N;s:1:"b";a:2:{i:0;b:1;i:1;b:0;}s:1:"r";a:1:{i:2;s:1:"x";}s:2:"-0";d:1.5;}',
    );
  });

  test('serialises scalars and empty lists bare', () => {
    expect([true, 'no', 7, null, []].map((value) => writePhp(value, 'plain'))).toEqual([
      'b:1;',
      's:2:"no";',
      'i:7;',
      'N;',
      'a:0:{}',
    ]);
  });

  test('makes an object of what the shape calls one, and of nothing below it', () => {
    expect(writePhp({ a: { b: '1' } }, 'object')).toBe('O:8:"stdClass":1:{s:1:"a";a:1:{s:1:"b";s:1:"1";}}');
    expect(writePhp([{ a: '1' }], 'rows')).toBe('a:1:{i:0;O:8:"stdClass":1:{s:1:"a";s:1:"1";}}');
    expect(writePhp({ sessid: 's', user: { uid: '1', roles: { 2: 'r' } } }, 'login')).toBe(
      'O:8:"stdClass":2:{s:6:"sessid";s:1:"s";s:4:"user";' +
        'O:8:"stdClass":2:{s:3:"uid";s:1:"1";s:5:"roles";a:1:{i:2;s:1:"r";}}}',
    );
  });

  test('shows the dates of a node as objects in the recorded style only', () => {
    expect(recordedFormats.php.write({ d: date }, { shape: 'node' })).toBe(
      'O:8:"stdClass":1:{s:1:"d";O:10:"DateObject":2:{s:26:"\0DateObject\0serializedTime";' +
        's:25:"2020-02-01T00:00:00+00:00";s:30:"\0DateObject\0serializedTimezone";s:3:"UTC";}}',
    );
    expect(writePhp({ d: date }, 'node')).toContain('s:1:"d";a:6:{s:11:"granularity";');
    expect(recordedFormats.php.write({ d: date }, { shape: 'plain' })).not.toContain('DateObject');
  });
});

describe('bencode', () => {
  const recordedBencode = (value: Value): string => recordedFormats.bencode.write(value, { shape: 'plain' });

  test('sorts keys by bytes and makes integers of digits', () => {
    expect(writeBencode({ b: '12', a: 'ü', Z: '007', c: '46.5', d: '-3', value2: 'x', value: 5 })).toBe(
      'd1:Z3:0071:a2:ü1:bi12e1:c4:46.51:d2:-35:valuei5e6:value21:xe',
    );
  });

  test('makes lists of maps whose keys are all integers, and of empty maps', () => {
    expect(writeBencode({ 2: 'a', 6: 'b' })).toBe('l1:a1:be');
    expect([writeBencode({}), writeBencode([])]).toEqual(['le', 'le']);
  });

  test('leaves null and booleans out in the recorded style, and spells them in the sound one', () => {
    expect(recordedBencode({ a: null, b: true, c: false, d: 'x' })).toBe('d1:a1:b1:c1:d1:xe');
    expect(writeBencode({ a: null, b: true, c: false, d: 'x' })).toBe('d1:a0:1:bi1e1:ci0e1:d1:xe');
    expect(recordedBencode(true)).toBe('');
    expect(recordedBencode('gone')).toBe('4:gone');
  });
});

test('every format writes through the table under its own name', () => {
  const written = Object.entries(formats).map(([name, format]) => [
    name,
    format.write(['a'], { shape: 'plain', callback: 'f' }),
  ]);
  expect(Object.fromEntries(written)).toEqual({
    bencode: 'l1:ae',
    json: '["a"]',
    jsonp: 'f(["a"]);',
    php: 'a:1:{i:0;s:1:"a";}',
    xml: '<?xml version="1.0" encoding="utf-8"?>\n<result is_array="true"><item>a</item></result>\n',
    yaml: '---\n- a\n',
  });
});
