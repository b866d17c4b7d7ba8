// A tag that does not exist yet is created once, although the write that creates it fails while other jobs wait for it.
import { expect, it } from 'vitest';
import { isWrite, type Moment, openGateway } from './support/gateway.ts';
import { openReader } from './support/reader.ts';
import { makeRemotePlace } from './support/remote-place.ts';
import { publisher, startPortal } from './support/server.ts';

/** Twenty datasets with one new tag: more than a worker has in work at once. */
const datasets = Array.from({ length: 20 }, (_, at) => ({
  id: `d${at}`,
  title: `Dataset ${at}`,
  tags: ['city'],
  resources: [{ id: 'site', title: 'Site', link: `https://www.example.org/${at}` }],
}));

// The others must not wait a minute for a job that gets its turn only after them: hence the time limit.
it.each(['not sent on', 'done, and its reply is lost'])('when the write is %s', { timeout: 30_000 }, async (what) => {
  const portal = await startPortal();
  const gateway = await openGateway(portal.url);
  const place = makeRemotePlace(gateway.url);
  let isFirst = true;
  const fail: Moment = (passed) => {
    if (!isFirst || !isWrite(passed) || !passed.body.includes('autocreate')) return;
    isFirst = false;
    throw new Error('answered with 502');
  };
  gateway[what === 'not sent on' ? 'before' : 'after'] = fail;
  const { code, report } = await place.publish(place.manifest({ name: 'tagged', datasets }));
  expect({ code, isFirst }).toEqual({ code: 0, isFirst: false });
  const reader = await openReader(portal.url, publisher.username, publisher.password);
  const nids = report.items.flatMap(({ kind, nid }) => (kind === 'dataset' && nid ? [nid] : []));
  const nodes = await Promise.all(nids.map((nid) => reader.read(nid)));
  const tids = new Set(nodes.map((node) => JSON.stringify(node.field_tags)));
  expect(nodes).toHaveLength(20);
  expect([...tids]).toEqual([expect.stringContaining('tid')]);
});
