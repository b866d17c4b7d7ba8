// Ctrl-C at random moments of one publish, resumed every time: each dataset is there once, and each interruption ends with 130.
// FLOW_DATASETS=500 FLOW_INTERRUPTS=20 is the full measure; FLOW_SEED repeats a series.
import { expect, it } from 'vitest';
import { randomOf } from '../support/random.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openGateway } from './support/gateway.ts';
import { doubles } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { startPortalProcess } from './support/server.ts';

const datasets = Number(process.env.FLOW_DATASETS ?? 120);
const interrupts = Number(process.env.FLOW_INTERRUPTS ?? 6);

it(`${interrupts} interruptions of ${datasets} datasets lose nothing and double nothing`, {
  timeout: 600_000,
}, async () => {
  const seed = Number(process.env.FLOW_SEED ?? 1);
  process.stdout.write(`FLOW_SEED=${seed}\n`);
  const random = randomOf(seed);
  const portal = await startPortalProcess();
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url);
  const manifest = place.manifest({
    name: 'often',
    datasets: Array.from({ length: datasets }, (_, index) => {
      const id = `d${String(index).padStart(3, '0')}`;
      const file = place.write(`data/${id}.csv`, `id,value\n${index},${id}\n`);
      return { id, title: `Dataset ${id}`, resources: [{ id: 't', title: `Table ${id}`, file }] };
    }),
  });
  // All moments together stay below what the publish needs: at least six requests for each dataset.
  const most = Math.floor((6 * datasets) / interrupts);
  for (let index = 0; index < interrupts; index++) {
    const from = gateway.requests.length;
    const moment = random.int(1, most);
    const publishing = place.spawn(['publish', manifest]);
    await waitUntil(
      `request ${moment} of publish ${index + 1}`,
      () => publishing.hasEnded() || gateway.requests.length >= from + moment,
    );
    expect(publishing.hasEnded(), `publish ${index + 1} ended before request ${moment}`).toBe(false);
    expect(await publishing.end('SIGINT'), publishing.err()).toBe(130);
  }
  const last = await place.publish(manifest);
  expect(last.code, last.err).toBe(0);
  const rows = await (await portal.reader()).list();
  expect(doubles(rows)).toEqual([]);
  expect(rows.filter(({ type }) => type === 'dataset')).toHaveLength(datasets);
  expect(rows.filter(({ type }) => type === 'resource')).toHaveLength(datasets);
  const verified = await place.run(['verify', manifest]);
  expect(verified).toMatchObject({ code: 0, out: expect.stringContaining(' items checked, 0 faults') });
  gateway.takeWrites();
  expect((await place.publish(manifest)).report.counts.actions).toEqual({});
  expect(gateway.takeWrites()).toEqual([]);
});
