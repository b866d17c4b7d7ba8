// What is printed about commands, codes and words that there are not.
import { beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../src/commands/program.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import { errorCodes } from '../../src/model/errors.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';

let place: CommandPlace;
beforeAll(() => {
  place = commandPlace();
});

const typed = async (line: string) => {
  const { io, out, err } = place.io();
  const code = await runProgram(line.split(' '), io);
  return { code, out: out(), err: err() };
};

const state = '--config sluice.yaml --state state';

it('lists the commands in groups', async () => {
  const { out } = await typed('--help');
  const heads = [...out.matchAll(/^(\S.*):$/gm)].map(([, head]) => head);
  expect(heads).toEqual(['Options', 'Publish', 'Look', 'Decide', 'Operate', 'Portal', 'Help']);
});

describe('sluice help', () => {
  const topics = ['config', 'manifest'];
  it.each(Object.keys(errorCodes).filter((code) => !topics.includes(code)))('explains %s', async (code) => {
    const { code: exit, out } = await typed(`help ${code}`);
    expect(exit).toBe(0);
    expect(out).toMatch(new RegExp(`^${code}: .*\\.\\n\\n[A-Z].*\\.\\n`));
    expect(out).toMatch(/exit code \d+\./);
  });

  it('says what a code means for an item, and that it may pass', async () => {
    expect((await typed('help table-header')).out).toContain('correct it, then publish, retry or drop it again.');
    expect((await typed('help portal-unreachable')).out).toContain('It may pass by itself');
    expect((await typed('help manifest')).out).toContain('A manifest says what to publish');
    expect((await typed('help publish')).out).toContain('Usage: sluice publish');
  });

  it.each([
    ['nosuch', null],
    ['table-headr', 'table-header'],
    ['publsh', 'publish'],
    ['manifst', 'manifest'],
    ['delete', 'remove'],
  ])('%s is an error, with what may be meant: %s', async (word, meant) => {
    const { code, err } = await typed(`help ${word}`);
    expect(code).toBe(2);
    expect(err).toContain(`there is no help about "${word}"`);
    expect(/did you mean `(.*?)`/.exec(err)?.[1] ?? null).toBe(meant);
  });
});

it.each([
  ['inbox', '`sluice help config` explains this key'],
  ['drop', '`sluice help manifest` explains this key'],
  ['maxRemovals', '`sluice help manifest` explains this key'],
])('help %s names the file that has this key', async (word, hint) => {
  const { code, err } = await typed(`help ${word}`);
  expect(code).toBe(2);
  expect(err).toContain(hint);
});

describe('an unknown word', () => {
  it.each([
    ['delete', 'remove'],
    ['rm', 'remove'],
    ['unpublish', 'remove'],
    ['unpause', 'resume'],
    ['reject', 'discard'],
    ['approve', 'release'],
    ['publsh', 'publish'],
    ['resme', 'resume'],
    ['xyzzy', null],
  ])('%s is never taken for its opposite: %s', async (word, meant) => {
    const { code, err } = await typed(`${word} city/budget`);
    expect([code, /did you mean `(.*?)`/.exec(err)?.[1] ?? null]).toEqual([2, meant]);
  });

  it('for an option names the one that may be meant, and none that does the opposite', async () => {
    expect((await typed('publish m.yaml --jsn')).err).toContain('(did you mean --json?)');
    expect((await typed('run-now m.yaml --wait')).err).not.toContain('did you mean');
  });

  it('for an error code, a key or a manifest is an error with a proposal', async () => {
    place.manifest('city', { spending: 'id\n1\n' });
    expect(await publishCommand(['city.yaml'], place.options, place.io().io)).toBe(0);
    const meant = async (line: string) => {
      const { code, err } = await typed(`${line} ${state}`);
      return `${code} ${/did you mean `(.*?)`/.exec(err)?.[1]}`;
    };
    expect(await meant('retry --code table-headr --manifest city')).toBe('2 table-header');
    for (const command of ['status', 'log', 'history', 'retry', 'release', 'discard', 'remove'])
      expect([command, await meant(`${command} city/one/spendign`)]).toEqual([command, '2 city/one/spending']);
    expect(await meant('run-now citty')).toBe('2 city');
    expect(await meant('pause locl')).toBe('2 local');
  });
});

it('deletes nothing without a yes, and says so where nobody can be asked', async () => {
  const refused = await typed(`remove city/one --how delete ${state}`);
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('add --yes to confirm it') });
  expect((await typed(`status city/one ${state}`)).out).toContain(': live');
  expect((await typed(`remove city/one --how delete --yes ${state}`)).code).toBe(0);
  expect((await typed(`status city/one/spending ${state}`)).out).toContain('removed (delete)');
});
