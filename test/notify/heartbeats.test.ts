// Heartbeats of runs to a monitor: in order, bounded, guarded, and never in the way of a run.
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { heartbeatUrls } from '../../src/config/notify-schema.ts';
import { createLog } from '../../src/model/log.ts';
import { heartbeatsOf } from '../../src/notify/heartbeats.ts';
import { makePlace } from '../flow/support/place.ts';

const log = createLog({ level: 'silent' });

/** A monitor that notes what it is called with; `hangs`: it takes calls and never answers. */
const openMonitor = async (hangs = false): Promise<{ url: string; calls: string[] }> => {
  const calls: string[] = [];
  const server = createServer((request, reply) => {
    calls.push(`${request.method} ${request.url}`);
    request.resume();
    if (!hangs) reply.end('OK');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, calls };
};

const manifestOf = (file: string, more: object = {}) => ({
  name: 'n',
  ...more,
  datasets: [{ id: 'a', title: 'A', resources: [{ id: 't', title: 'T', file }] }],
});

describe('one address', () => {
  it('stands for success, with /start and /fail behind its path for the others', () => {
    expect(heartbeatUrls('https://hc.example.org/ping/1?rid=2')).toEqual({
      start: 'https://hc.example.org/ping/1/start?rid=2',
      ok: 'https://hc.example.org/ping/1?rid=2',
      fail: 'https://hc.example.org/ping/1/fail?rid=2',
    });
  });
});

describe('a run', () => {
  it('reports the monitor of the configuration when it begins, and how it ended', async () => {
    const monitor = await openMonitor();
    const place = makePlace({ notify: { heartbeat: `${monitor.url}/ping` } });
    place.write('t.csv', 'id\n1\n');
    expect((await place.publish(place.manifest(manifestOf('t.csv')))).code).toBe(0);
    expect(monitor.calls).toEqual(['POST /ping/start', 'POST /ping']);
    expect((await place.publish(place.manifest(manifestOf('missing.csv')))).code).toBe(3);
    expect(monitor.calls.slice(2)).toEqual(['POST /ping/start', 'POST /ping/fail']);
  });

  it('of single items is no heartbeat', async () => {
    const monitor = await openMonitor();
    const place = makePlace({ notify: { heartbeat: monitor.url } });
    const manifest = place.manifest(manifestOf('t.csv'));
    expect((await place.publish(manifest)).code).toBe(3);
    place.write('t.csv', 'id\n1\n');
    expect((await place.run(['retry', 'n/a/t'])).code).toBe(0);
    expect(monitor.calls).toEqual(['POST /start', 'POST /fail']);
  });

  it('succeeds whatever becomes of its heartbeats: a private address of a manifest is not called, a dead one neither', async () => {
    const monitor = await openMonitor();
    const place = makePlace({ notify: { heartbeat: { ok: 'http://127.0.0.1:1/' } } });
    place.write('t.csv', 'id\n1\n');
    expect((await place.publish(place.manifest(manifestOf('t.csv')))).code).toBe(0);
    const own = manifestOf('t.csv', { notify: { heartbeat: `${monitor.url}/s3cret` } });
    const ended = await place.publish(place.manifest(own), { env: { NODE_ENV: 'test' } });
    expect(ended.code).toBe(0);
    expect(monitor.calls).toEqual([]);
    expect(ended.err).not.toContain('s3cret');
  });

  it('calls the monitor of its manifest instead where the address is allowed', async () => {
    const [monitor, general] = [await openMonitor(), await openMonitor()];
    const place = makePlace({ sources: { allow: ['127.0.0.1'] }, notify: { heartbeat: general.url } });
    place.write('t.csv', 'id\n1\n');
    const manifest = place.manifest(manifestOf('t.csv', { notify: { heartbeat: { ok: `${monitor.url}/up` } } }));
    expect((await place.publish(manifest)).code).toBe(0);
    expect(monitor.calls).toEqual(['POST /up']);
    expect(general.calls).toEqual([]);
  });
});

describe('a monitor that hangs', () => {
  it('is given up, holds no other up, and leaves calls out rather than letting them pile up', async () => {
    const [hung, sound] = [await openMonitor(true), await openMonitor()];
    const heartbeats = heartbeatsOf(log);
    const call = (target: string, url: string): void =>
      heartbeats.call({ heartbeat: 'ok', target, urls: { ok: `${url}/${target}` }, text: '' });
    call('sound', sound.url);
    for (let index = 0; index < 1000; index++) call(`m${index}`, hung.url);
    await heartbeats.close();
    expect(sound.calls).toEqual(['POST /sound']);
    expect(hung.calls.length).toBeLessThan(200);
  });
});

describe('`notices test`', () => {
  it('says of every channel what came of it', async () => {
    const [monitor, refusing] = [await openMonitor(), await openMonitor()];
    const place = makePlace({
      manifests: ['*.yaml', '../n.yaml'],
      notify: { webhook: { url: `${monitor.url}/hook` }, heartbeat: { ok: `${refusing.url}/up`, start: refusing.url } },
    });
    place.manifest(manifestOf('t.csv', { notify: { webhook: `${refusing.url}/t0ken` } }));
    const ended = await place.run(['notices', 'test', '--json']);
    expect(ended.code).toBe(3);
    expect(JSON.parse(ended.out).channels).toMatchObject([
      { channel: 'webhook', to: monitor.url, manifest: null, error: null },
      { channel: 'heartbeat', to: refusing.url, manifest: null, error: null },
      { channel: 'webhook', to: refusing.url, manifest: 'n', error: { code: 'source-refused' } },
    ]);
    expect(ended.out).not.toContain('t0ken');
    expect(monitor.calls).toEqual(['POST /hook']);
    expect(refusing.calls).toEqual(['POST /up']);
  });

  it('is a mistake where nobody is notified', async () => {
    const ended = await makePlace().run(['notices', 'test']);
    expect([ended.code, ended.err]).toEqual([2, expect.stringContaining('no channel for notices is configured')]);
  });
});
