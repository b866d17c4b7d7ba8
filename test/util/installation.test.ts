import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { userCache } from '../../src/util/installation.ts';
import { tempDir } from '../support/temp-dir.ts';

const isRoot = process.getuid?.() === 0;

it('is below the home, or where the environment says', () => {
  const [home, caches] = [tempDir(), tempDir()];
  expect(userCache({ HOME: home })).toBe(join(home, '.cache/sluice'));
  expect(userCache({ HOME: home, XDG_CACHE_HOME: caches })).toBe(join(caches, 'sluice'));
  expect(existsSync(join(caches, 'sluice'))).toBe(true);
});

it('is nowhere without a home', () => {
  expect(userCache({})).toBeNull();
  expect(userCache({ HOME: join(tempDir(), 'missing') })).toBeNull();
});

it.skipIf(!isRoot)(`is nowhere where it is another user's${isRoot ? '' : ' (skipped: needs root)'}`, () => {
  const home = tempDir();
  mkdirSync(join(home, '.cache/sluice'), { recursive: true });
  chownSync(join(home, '.cache/sluice'), 65534, 65534);
  expect(userCache({ HOME: home })).toBeNull();
});

it.skipIf(isRoot)(
  `is nowhere where it cannot be written${isRoot ? ' (skipped: root can write everywhere)' : ''}`,
  () => {
    const home = tempDir();
    mkdirSync(join(home, '.cache/sluice'), { recursive: true });
    chmodSync(join(home, '.cache/sluice'), 0o500);
    expect(userCache({ HOME: home })).toBeNull();
  },
);
