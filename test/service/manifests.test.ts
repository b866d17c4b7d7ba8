import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadManifests, watchManifests } from '../../src/service/manifests.ts';
import { keptLog } from '../redis-server/embedded-support.ts';
import { isWhole } from '../support/extent.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';
import { writeText } from '../support/yaml-file.ts';

const manifest = (name: string): string => JSON.stringify({ name, portal: 'local', datasets: [] });

describe('the manifests of the service', () => {
  it('are those that the paths and patterns name, each once', async () => {
    const dir = tempDir();
    writeText(dir, 'b.yaml', manifest('b'));
    writeText(dir, 'a.yaml', manifest('a'));
    writeText(dir, 'note.txt', 'no manifest');
    const found = await loadManifests([join(dir, '*.yaml'), join(dir, 'a.yaml'), join(dir, 'later-*.yaml')]);
    expect(found.manifests.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(found.skipped).toEqual([]);
  });

  it('are in the order in which people count', async () => {
    const dir = tempDir();
    for (const name of ['amt-10', 'amt-2', 'amt-1']) writeText(dir, `${name}.yaml`, manifest(name));
    const found = (await loadManifests([join(dir, '*.yaml')])).manifests;
    expect(found.map(({ name }) => name)).toEqual(['amt-1', 'amt-2', 'amt-10']);
  });

  it('leave out faulty ones and second ones of a name, saying why; the others go on', async () => {
    const dir = tempDir();
    writeText(dir, '1.yaml', manifest('twin'));
    writeText(dir, '2.yaml', manifest('twin'));
    writeText(dir, '3.yaml', 'name: [');
    writeText(dir, '4.yaml', manifest('sound'));
    const { manifests: found, skipped } = await loadManifests([join(dir, '*.yaml')]);
    expect(found.map(({ name, path }) => `${name} ${path}`)).toEqual([
      `twin ${join(dir, '1.yaml')}`,
      `sound ${join(dir, '4.yaml')}`,
    ]);
    expect(skipped).toEqual([
      { path: join(dir, '3.yaml'), why: expect.stringContaining('3.yaml:1:') },
      { path: join(dir, '2.yaml'), why: `${join(dir, '1.yaml')} has the same name` },
    ]);
  });

  it('are read again after every change, however fast changes come, and from the very beginning', async () => {
    const dir = tempDir();
    writeText(dir, 'first.yaml', manifest('first'));
    let names: string[] = [];
    const { log } = keptLog();
    const patterns = [join(dir, '*.yaml')];
    const watch = watchManifests(
      patterns,
      async () => {
        names = (await loadManifests(patterns)).manifests.map(({ name }) => name);
      },
      log,
    );
    onTestFinished(() => watch.close());
    // Written before the watch can have started.
    writeText(dir, 'early.yaml', manifest('early'));
    await waitUntil('the early one', () => names.includes('early'));
    let turn = 0;
    await waitUntil('one among changes without a pause', () => {
      writeText(dir, 'busy.yaml', manifest(`busy-${turn++}`));
      return names.some((name) => name.startsWith('busy-'));
    });
    writeText(dir, 'busy.yaml', manifest('calm'));
    await waitUntil('the last change', () => names.includes('calm'));
    rmSync(join(dir, 'early.yaml'));
    await waitUntil('the removal', () => !names.includes('early'));
    expect(names).toEqual(['calm', 'first']);
  });

  it.runIf(isWhole)('are tried again where they could not be served', async () => {
    const dir = tempDir();
    writeText(dir, 'a.yaml', manifest('a'));
    let tries = 0;
    const changed = async (): Promise<void> => {
      tries += 1;
      if (tries === 1) throw new Error('the inbox is away');
    };
    const { log, lines } = keptLog();
    const watch = watchManifests([join(dir, '*.yaml')], changed, log);
    onTestFinished(() => watch.close());
    await waitUntil('the second try', () => tries === 2, 30_000);
    expect(lines.join()).toContain('trying again');
  });
});
