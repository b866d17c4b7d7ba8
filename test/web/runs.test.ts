import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitUntil } from '../support/wait-until.ts';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

const token = 'a-token-of-programs';
let web: WebPlace;
beforeAll(async () => {
  web = await openWebPlace({ manifests: ['*.yaml'], web: { port: 0, token: { file: 'token' } } }, { token });
  web.place.manifest('city', { good: 'id\n1\n2\n' });
});
afterAll(() => web.close());

const post = (body: unknown, headers: Record<string, string> = { authorization: `Bearer ${token}` }) =>
  web.send({
    method: 'POST',
    url: '/runs',
    headers: { ...headers, 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });

it('requests a run, which is worked as any other', async () => {
  const reply = await post({ manifest: 'city' });
  expect(reply.statusCode).toBe(202);
  const { runs } = reply.json();
  expect(runs).toEqual([{ runId: expect.any(String), manifest: 'city', portal: 'local' }]);
  await web.runtime.startWorkers();
  const report = await waitUntil('the report', () => web.runtime.runs.report(runs[0].runId));
  expect(Array.from(report.items, ({ live }) => live)).toEqual([true, true]);
});

it.each([
  [{ manifest: 'county' }, 404, 'there is no manifest "county"'],
  [{ manifest: 'city', portal: 'elsewhere' }, 404, 'city is not published to a portal "elsewhere"'],
  [{ manifest: '/etc/passwd' }, 400, 'manifest: '],
  [{ manifest: 'city', wish: 1 }, 400, 'wish'],
])('refuses %j with %i', async (body, status, message) => {
  const reply = await post(body);
  expect(reply.statusCode).toBe(status);
  expect(reply.json().error.message).toContain(message);
});

it('refuses what is no JSON with an error in JSON', async () => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const reply = await web.send({ method: 'POST', url: '/runs', headers, payload: '{' });
  expect([reply.statusCode, typeof reply.json().error.message]).toEqual([400, 'string']);
});

it('refuses other tokens; a request without any is no guess', async () => {
  for (const authorization of ['', `Basic ${token}`, '', '', '', '', `Bearer ${token}x`]) {
    const reply = await post({ manifest: 'city' }, { authorization });
    expect([reply.statusCode, reply.headers['www-authenticate']]).toEqual([401, 'Bearer']);
  }
  expect((await post({ manifest: 'county' })).statusCode).toBe(404);
});

it('lets nobody in where no token is configured', async () => {
  const open = await openWebPlace();
  const reply = await open.send({
    method: 'POST',
    url: '/runs',
    headers: { authorization: 'Bearer ' },
    payload: { manifest: 'city' },
  });
  expect(reply.statusCode).toBe(401);
  await open.close();
});
