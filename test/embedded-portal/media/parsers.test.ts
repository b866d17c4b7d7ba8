import { expect, test } from 'vitest';
import { bodyParsers } from '../../../src/embedded-portal/media/formats.ts';
import { chooseParser } from '../../../src/embedded-portal/media/negotiate.ts';

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
