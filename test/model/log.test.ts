import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { createLog, type Log } from '../../src/model/log.ts';

const written = (say: (log: Log) => void): string => {
  let text = '';
  const destination = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  say(createLog({ level: 'info', pretty: true, destination }));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours
  return text.replaceAll(/\x1b\[\d+m/g, '').replaceAll(/\d\d:\d\d:\d\d/g, '12:00:00');
};

it('a log for people has a line each, with its facts, without secrets and what controls a terminal', () => {
  const text = written((log) => log.child({ key: 'a/b' }).warn({ password: 'x', n: 1 }, 'went\u001b[2J on'));
  expect(text).toBe('[12:00:00] WARN: went[2J on {"key":"a/b","password":"[redacted]","n":1}\n');
});

it('a log for people shows errors with their stack and cause', () => {
  const text = written((log) => log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed'));
  expect(text).toMatch(/^\[12:00:00\] ERROR: failed\n {4}Error: outer\n +at .*\ncaused by: Error: inner\n/s);
});
