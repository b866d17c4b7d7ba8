import { expect, test } from 'vitest';
import { isNewEnough, parseVersionInfo, parseVersionLine } from '../../../src/state/redis/connection.ts';

test.each([
  ['Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1', { name: 'Redis', version: '7.0.15' }],
  ['Valkey server v=8.0.1 sha=00000000:0 malloc=libc bits=64 build=1', { name: 'Valkey', version: '8.0.1' }],
  ['Server v=7.2.5 sha=00000000:0', { name: 'Redis', version: '7.2.5' }],
  ['a shell that knows no version', null],
])('the version line %j is read', (line, expected) => {
  expect(parseVersionLine(line)).toEqual(expected);
});

test.each([
  ['7.0.8', true],
  ['7.0.7', false],
  ['7.0.15', true],
  ['6.2.14', false],
  ['7.2.0', true],
  ['10.0.0', true],
])('Redis %s is new enough: %s', (version, expected) => {
  expect(isNewEnough({ name: 'Redis', version })).toBe(expected);
});

test('Valkey is accepted by its name and keeps its own version number', () => {
  const info = new Map([
    ['redis_version', '7.2.4'],
    ['server_name', 'valkey'],
    ['valkey_version', '8.1.0'],
  ]);
  expect(parseVersionInfo(info)).toEqual({ name: 'Valkey', version: '8.1.0' });
  expect(isNewEnough({ name: 'Valkey', version: '1.0.0' })).toBe(true);
});

test('a server that names no version is not guessed at', () => {
  expect(parseVersionInfo(new Map())).toBeNull();
});
