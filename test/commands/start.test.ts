import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startCommand } from '../../src/commands/start.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { UsageError } from '../../src/model/errors.ts';
import { makePlace } from '../flow/support/place.ts';
import { commandPlace } from '../support/command-place.ts';
import { isWhole } from '../support/extent.ts';
import { startTestRedis } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';

it('start refuses a manifest that is not there, and a port that is taken', async () => {
  const place = commandPlace();
  const { io } = place.io();
  await expect(startCommand(['nowhere.yaml'], place.options, io)).rejects.toBeInstanceOf(UsageError);
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await waitUntil('the port', () => other.listening);
  const address = other.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const taken = commandPlace({ web: { port } });
  const failure = await startCommand([], taken.options, taken.io().io).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UsageError);
  expect((failure as UsageError).message).toContain(String(port));
});

it('start answers its health check and takes the address away when it ends', async () => {
  const place = commandPlace();
  const { io, stop } = place.io();
  const ended = startCommand([], place.options, io);
  const file = join(place.dir, 'state', 'health.address');
  await waitUntil('the health check', () => existsSync(file));
  stop();
  expect(await ended).toBe(0);
  expect(existsSync(file)).toBe(false);
});

it('start warns once where nothing makes it publish', async () => {
  const place = commandPlace({ log: { level: 'warn' } });
  place.manifest('plain', { a: 'id\n1\n' });
  place.manifest('timed', { a: 'id\n1\n' });
  place.write(
    'timed.yaml',
    readFileSync(join(place.dir, 'timed.yaml'), 'utf8').replace('{', '{ "schedule": "0 3 * * *",'),
  );
  const said = async (...manifests: string[]): Promise<string[]> => {
    const { io, stop, out } = place.io({ terminal: true });
    const ended = startCommand(manifests, place.options, io);
    await waitUntil('the service', () => out().includes('press Ctrl-C'));
    stop();
    expect(await ended).toBe(0);
    return out().match(/warn.*/g) ?? [];
  };
  expect(await said()).toEqual([expect.stringContaining('no manifest is served, so nothing is published')]);
  expect(await said('plain.yaml')).toEqual([expect.stringContaining('runs begin on request only')]);
  expect(await said('plain.yaml', 'timed.yaml')).toEqual([]);
});

it('start keeps telling of a manifest that it cannot serve, until it is mended', async () => {
  const place = commandPlace({ manifests: ['jobs/*.yaml'] });
  const write = (key: string): unknown =>
    place.write('jobs/city.yaml', `name: city\n${key}: { folder: ../inbox, files: "*.csv" }\n`);
  place.write('inbox/a.txt', 'keeps the folder');
  write('drop');
  place.write('jobs/far.yaml', 'name: far\nportal: moon\ndatasets: []\n');
  const { io, stop, out } = place.io({ terminal: true });
  const ended = startCommand([], place.options, io);
  await waitUntil('the service', () => out().includes('press Ctrl-C'));
  const overview = async (): Promise<string> => {
    const shown = place.io();
    await statusCommand(undefined, place.options, shown.io);
    return shown.out();
  };
  expect(await overview()).toMatch(
    /^OVERDUE: \S+far\.yaml has been faulty since \S+Z: no portal .* configured: moon$/m,
  );
  expect(await overview()).not.toContain('city.yaml');
  write('dorp');
  const fault = /city\.yaml has been faulty since \S+Z: \S+city\.yaml:1:1: .*publishes nothing/;
  await waitUntil('the fault', async () => fault.test(await overview()));
  place.write('inbox/b.csv', 'id\n1\n');
  const hint = expect.stringMatching(/city\.yaml:1:1: .*publishes nothing.*: mend /);
  await expect(statusCommand('inbox/b.csv', place.options, place.io().io)).rejects.toMatchObject({ hint });
  write('drop');
  await waitUntil('its end', async () => !(await overview()).includes('city.yaml'));
  stop();
  expect(await ended).toBe(0);
});

it('start makes the state folder where Redis and the portals are elsewhere', async () => {
  const redis = await startTestRedis();
  onTestFinished(() => redis.close());
  const env = { ...process.env, REDIS_URL: `unix://${'path' in redis.options ? redis.options.path : ''}` };
  const city = { kind: 'remote', url: 'http://127.0.0.1:9', username: 'ann', password: { file: 'password' } };
  const place = commandPlace({ portals: { city } });
  chmodSync(place.write('password', 'x'), 0o600);
  const { io, stop } = place.io();
  const ended = startCommand([], place.options, { ...io, env });
  await Promise.race([ended, waitUntil('the health check', () => existsSync(join(place.dir, 'state/health.address')))]);
  stop();
  expect(await ended).toBe(0);
});

it.runIf(isWhole)('start ends when it is asked to while its Redis is gone', async () => {
  const redis = await startTestRedis();
  onTestFinished(() => redis.close());
  const env = { REDIS_URL: `unix://${'path' in redis.options ? redis.options.path : ''}` };
  const service = makePlace().spawn(['start'], { env });
  await service.said('sluice is running');
  await redis.close();
  expect(await service.end('SIGTERM')).toBe(130);
  expect(service.out()).toContain('Redis does not answer: exiting now');
});

it('publish ends when it is asked to while its Redis is gone', async () => {
  const redis = await startTestRedis();
  onTestFinished(() => redis.close());
  let isAsked = false;
  const silent = createServer(() => {
    isAsked = true;
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close().closeAllConnections());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const city = { kind: 'remote', url: `http://127.0.0.1:${port}`, username: 'ann', password: { file: 'password' } };
  const place = makePlace({ portals: { city } });
  chmodSync(place.write('config/password', 'x'), 0o600);
  place.write('a.csv', 'id\n1\n');
  const resources = [{ id: 'a', title: 'A', file: 'a.csv' }];
  const manifest = place.manifest({ name: 'cut', portal: 'city', datasets: [{ id: 'one', title: 'One', resources }] });
  const env = { REDIS_URL: `unix://${'path' in redis.options ? redis.options.path : ''}` };
  const publish = place.spawn(['publish', manifest], { env });
  await waitUntil('a request', () => isAsked);
  await redis.close();
  await waitUntil('a word on it', () => publish.err().includes('Redis does not answer: waiting for it'));
  expect(await publish.end('SIGTERM')).toBe(130);
  expect(publish.err()).toContain('Redis does not answer: exiting now');
});

it('worker works what a publish beside it asks for', async () => {
  const place = makePlace();
  place.write('a.csv', 'id\n1\n');
  const resources = [{ id: 'a', title: 'A', file: 'a.csv' }];
  const manifest = place.manifest({ name: 'worked', datasets: [{ id: 'one', title: 'One', resources }] });
  const worker = place.start(['worker']);
  await worker.said('worker is running');
  const { code, report } = await place.publish(manifest);
  expect(code).toBe(0);
  expect(report.items.every(({ live }) => live)).toBe(true);
  expect(worker.out()).toContain('"attach"');
  expect(await worker.end('SIGTERM')).toBe(0);
});

it('start ends with 2 when an inbox belongs to another Redis, leaving nothing open', async () => {
  const place = makePlace({}, 'embedded');
  const manifest = place.manifest({ name: 'paired', drop: { folder: 'inbox', files: '*.csv' } });
  const first = await place.serve([manifest]);
  expect(await first.end('SIGTERM')).toBe(0);
  rmSync(place.stateDir, { recursive: true });
  const second = place.spawn(['start', manifest]);
  expect(await second.ended).toBe(2);
  expect(second.err()).toContain('-> ');
});
