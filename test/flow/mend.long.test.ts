// Tables that are fixed on the way (`mend: safe`), with the worker killed at every moment of that.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encoderOf } from '../../src/tables/scan/encodings.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import { isWrite } from './support/gateway.ts';
import { makeKillPlace, publishThroughKills } from './support/kill-windows.ts';

const sent = 'nr;město\n1;Plzeň\n2;České Budějovice\n3;Ústí nad Labem\n';
const export1250 = encoderOf('windows-1250')(`Seznam měst\n\n${sent}`);

it('arrive once and whole over kills of the worker', async () => {
  const { reader, gateway } = await openGatedPortal();
  const { place, killDir } = makeKillPlace(gateway);
  const windows = [
    'resource/prepare/begin',
    'resource/prepare/end',
    'resource/check/end',
    'resource/attach/begin',
    'resource/attach/end',
  ];
  const idOf = (window: string): string => window.replaceAll('/', '-');
  const datasets = windows.map(idOf).map((id) => {
    place.write(`data/${id}.csv`, export1250);
    return {
      id,
      title: `Kill ${id}`,
      resources: [{ id: 't', title: `Kill ${id} t`, file: `data/${id}.csv`, mend: 'safe' }],
    };
  });
  const manifest = place.manifest({ name: 'kills', datasets });
  await publishThroughKills({ place, killDir, gateway }, manifest, {
    windows,
    idOf,
    writeOf: () => ({ what: '', id: '' }),
  });
  const attached = gateway.requests.filter((request) => isWrite(request) && request.path.endsWith('attach_file'));
  expect(attached).toHaveLength(windows.length);
  const tables = (await reader.list()).filter(({ title, type }) => title.startsWith('Kill ') && type === 'resource');
  expect(tables).toHaveLength(windows.length);
  for (const { nid } of tables) expect((await reader.file(nid))?.content).toBe(sent);
  expect(readdirSync(join(place.stateDir, 'prepared'))).toEqual([]);
});
