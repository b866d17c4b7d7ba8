// What the readers of request bodies make of a body, and where they say it is wrong.
import { describe, expect, test } from 'vitest';
import { parsePhp } from '../../../src/embedded-portal/media/php.ts';
import type { BodyParser } from '../../../src/embedded-portal/media/value.ts';
import { MalformedBody } from '../../../src/embedded-portal/media/value.ts';
import { parseXml } from '../../../src/embedded-portal/media/xml.ts';
import { parseYaml } from '../../../src/embedded-portal/media/yaml.ts';

const faultOf = (parse: BodyParser<unknown>, body: string): MalformedBody => {
  try {
    parse(Buffer.from(body));
  } catch (error) {
    if (error instanceof MalformedBody) return error;
    throw error;
  }
  throw new Error('the body was read');
};

describe('PHP', () => {
  const php = (body: string): unknown => parsePhp(Buffer.from(body));

  test('reads scalars', () => {
    expect(['N;', 'b:1;', 'b:0;', 'i:-5;', 'd:0.5;', 'd:1.0E+25;', 's:2:"ü";', 's:3:"a";";'].map(php)).toEqual([
      null,
      true,
      false,
      -5,
      0.5,
      1e25,
      'ü',
      'a";',
    ]);
  });

  test('reads arrays with keys 0, 1, 2 … as lists and others as maps', () => {
    expect(php('a:2:{i:0;s:1:"a";i:1;s:1:"b";}')).toEqual(['a', 'b']);
    expect(php('a:2:{i:1;s:1:"a";i:0;s:1:"b";}')).toEqual({ 0: 'b', 1: 'a' });
    expect(php('a:1:{s:3:"und";a:0:{}}')).toEqual({ und: [] });
  });

  test('keeps the digits of an integer that is too large for a number', () => {
    expect(php('i:9223372036854775807;')).toBe('9223372036854775807');
  });

  test('names the byte of a fault', () => {
    expect(faultOf(parsePhp, 'a:1:{i:0;O:1:"x":0:{}}').message).toBe('objects are not accepted; send arrays (byte 9)');
    expect(faultOf(parsePhp, 'i:1;x').message).toMatch(/ \(byte 4\)$/);
    expect(faultOf(parsePhp, 's:3:"abcd";').message).toBe('a text of 3 bytes does not end with "; (byte 2)');
  });
});

describe('YAML', () => {
  const yaml = (body: string): unknown => parseYaml(Buffer.from(body));

  test('reads the core schema', () => {
    expect(yaml('a: x\nb: 12\nc: true\nd: null\ne: 1.5\nf: [1, {g: h}]\n')).toEqual({
      a: 'x',
      b: 12,
      c: true,
      d: null,
      e: 1.5,
      f: [1, { g: 'h' }],
    });
    expect(yaml('yes')).toBe('yes');
    expect(yaml('2012-01-01')).toBe('2012-01-01');
  });

  test('keeps the text of a number that would lose something', () => {
    expect(yaml('[007, 1.10, 0x1f, +1, 12345678901234567890, .inf]')).toEqual([
      '007',
      '1.10',
      '0x1f',
      '+1',
      '12345678901234567890',
      '.inf',
    ]);
  });

  test('follows a few aliases', () => {
    expect(yaml('a: &a {x: 1}\nb: *a\nc: *a\n')).toEqual({ a: { x: 1 }, b: { x: 1 }, c: { x: 1 } });
  });

  test('has no value for blanks and comments', () => {
    expect([yaml(' \n'), yaml('# nothing\n'), yaml('---\n')]).toEqual([null, null, null]);
  });

  test('names line and column of a fault', () => {
    expect(faultOf(parseYaml, 'a: 1\nb: [1\n').message).toMatch(/\(line 3, column 1\)$/);
    expect(faultOf(parseYaml, 'a: 1\na: 2\n').message).toMatch(/\(line 2, column 1\)$/);
  });
});

describe('XML', () => {
  const xml = (body: string): unknown => parseXml(Buffer.from(body));

  test('makes keys of elements, whatever the root is called, and keeps numbers as texts', () => {
    expect(xml('<?xml version="1.0" encoding="UTF-8"?>\n<any><uid>007</uid><log/></any>\n')).toEqual({
      uid: '007',
      log: '',
    });
    expect(xml('<any>text</any>')).toBe('text');
  });

  test('makes a list of the children of is_array, whatever they are called', () => {
    expect(xml('<n><und is_array="true"><item><tid>1</tid></item><item><tid>2</tid></item></und></n>')).toEqual({
      und: [{ tid: '1' }, { tid: '2' }],
    });
    expect(xml('<n is_array="1"><a>x</a><b>y</b></n>')).toEqual(['x', 'y']);
    expect(xml('<n><und is_array="true"/><x is_array="false">y</x></n>')).toEqual({ und: [], x: 'y' });
  });

  test('takes the inside of is_raw as it stands', () => {
    expect(xml('<n><body is_raw="true"><p>a &amp; <b>b</b></p></body></n>')).toEqual({
      body: '<p>a &amp; <b>b</b></p>',
    });
    expect(xml('<n><a is_raw="1"><n is_raw="1">x</n>y</a ><b is_raw="1"/></n>')).toEqual({
      a: '<n is_raw="1">x</n>y',
      b: '',
    });
  });

  test('follows the five named entities and numeric references, and joins text with CDATA', () => {
    expect(xml('<n>&lt;&gt;&amp;&quot;&apos;&#228;&#x1F600; <![CDATA[<&amp;>]]><!-- no --><?x no?>.</n>')).toBe(
      '<>&"\'ä😀 <&amp;>.',
    );
  });

  test('keeps blanks in texts and reads every line end as one', () => {
    expect(xml('<n>\n  <a> x\r\ny\rz </a>\n</n>')).toEqual({ a: ' x\ny\nz ' });
  });

  test.each([
    ['<n><a>1</b></n>', 'unexpected close tag', 1, 11],
    ['<n>\n<a>1</a>\n<a>2</a></n>', '<a> is there twice; a list needs is_array="true"', 3, 1],
    ['<n>text<a/></n>', 'an element holds text beside elements', 1, 1],
    ['<n', 'document must contain a root element', 1, 2],
    ['<n a="1" a="2"/>', 'duplicate attribute: a', 1, 16],
    ['<n a=1/>', 'unquoted attribute value', 1, 6],
    ['<n a="<"/>', 'disallowed character', 1, 7],
    ['<n>a\r\nb &nbsp; c</n>', 'undefined entity', 2, 8],
    ['<n>]]></n>', 'the string "]]>" is disallowed in char data', 1, 6],
    ['<n>\n\u0001</n>', 'disallowed character', 2, 1],
    ['<n><?xml version="1.0"?></n>', 'an XML declaration must be at the start of the document', 1, 9],
    ['{"a":1}', 'text data outside of root node', 1, 8],
    ['<n/> x', 'text data outside of root node', 1, 7],
  ])('refuses %s and says where', (body, reason, line, column) => {
    expect(faultOf(parseXml, body).message).toBe(`${reason} (line ${line}, column ${column})`);
  });
});
