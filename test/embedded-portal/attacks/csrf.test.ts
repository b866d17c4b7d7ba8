// Cross-site request forgery: a session alone changes nothing.
import { beforeAll, describe, expect, it } from 'vitest';
import { profiles } from '../../../src/embedded-portal/profiles/profiles.ts';
import { resourcesOf } from '../../../src/embedded-portal/resources/table.ts';
import { type Caller, multipart, startTestPortal } from '../../support/portal.ts';

let creator: Caller;
let nid: string;

beforeAll(async () => {
  const portal = await startTestPortal();
  creator = await portal.as('creator');
  nid = await creator.create({ type: 'resource', title: 'Target' });
  await creator.attach(nid, { name: 'a.csv', content: 'a\n1\n' });
});

const file = multipart([
  { name: 'attach', value: '0' },
  { name: 'field_name', value: 'field_upload' },
  { name: 'files[1]', value: 'b\n2\n', filename: 'b.csv' },
]);

const node = { body: { type: 'resource', title: 'Forged' } };

/** Every operation that changes something, as a request. */
const writes: Record<string, () => [method: string, path: string, sent?: object]> = {
  'node create': () => ['POST', '/api/dataset/node', node],
  'node update': () => ['PUT', `/api/dataset/node/${nid}`, node],
  'node delete': () => ['DELETE', `/api/dataset/node/${nid}`],
  'node attach_file': () => ['POST', `/api/dataset/node/${nid}/attach_file`, file],
  'datastore update': () => ['PUT', `/api/dataset/datastore/${nid}`, { body: { configuration: { delimiter: ';' } } }],
  'datastore createOn': () => ['POST', `/api/dataset/datastore/${nid}`, { body: {} }],
  'datastore delete': () => ['DELETE', `/api/dataset/datastore/${nid}`],
  'datastore import': () => ['POST', `/api/dataset/datastore/${nid}/import`, { body: {} }],
  'datastore drop': () => ['POST', `/api/dataset/datastore/${nid}/drop`, { body: {} }],
};

it('this file knows every operation that writes', () => {
  const names = [...resourcesOf(profiles.spec, undefined)].flatMap(([resource, table]) =>
    Object.entries(table)
      .filter(([, one]) => one.writes)
      .map(([name]) => `${resource} ${name}`),
  );
  expect(names.toSorted()).toEqual(Object.keys(writes).toSorted());
});

describe.each(Object.keys(writes))('%s', (name) => {
  it.each([
    ['without a token', {}],
    ['with an empty token', { 'x-csrf-token': '' }],
    ['with a wrong token', { 'x-csrf-token': 'A'.repeat(43) }],
    ['with the name of the header in the query only', {}],
  ])('%s is refused and changes nothing', async (_title, headers) => {
    const before = await creator.read(nid);
    const [method, path, sent = {}] = writes[name]?.() ?? [];
    const own = 'headers' in sent ? (sent.headers as object) : {};
    const reply = await creator.send(method ?? '', path ?? '', {
      ...sent,
      headers: { ...own, 'x-csrf-token': '', ...headers },
    });
    expect([reply.status, reply.json()]).toEqual([401, ['CSRF validation failed']]);
    expect(await creator.read(nid)).toEqual(before);
  });

  it('is refused without a session whatever the token', async () => {
    const [method, path, sent = {}] = writes[name]?.() ?? [];
    const own = 'headers' in sent ? (sent.headers as object) : {};
    const reply = await creator.send(method ?? '', path ?? '', {
      ...sent,
      headers: { ...own, cookie: '', 'x-csrf-token': creator.token },
    });
    expect(reply.status).toBe(403);
  });
});

it('a write behind _method or X-HTTP-Method-Override needs the token too', async () => {
  for (const [path, headers] of [
    [`/api/dataset/node/${nid}?_method=DELETE`, {}],
    [`/api/dataset/node/${nid}`, { 'x-http-method-override': 'DELETE' }],
  ] as const) {
    const reply = await creator.send('POST', path, { body: {}, headers: { 'x-csrf-token': '', ...headers } });
    expect(reply.status).toBe(401);
  }
  expect((await creator.send('GET', `/api/dataset/node/${nid}?_method=DELETE`)).status).toBe(200);
  await creator.read(nid);
});

it('a form of another site cannot log a browser in over a session it has, nor log it out', async () => {
  const headers = { 'x-csrf-token': '', 'content-type': 'application/x-www-form-urlencoded' };
  const login = await creator.send('POST', '/api/dataset/user/login', {
    body: 'username=admin&password=pass',
    headers,
  });
  expect(login.status).toBeGreaterThanOrEqual(400);
  const logout = await creator.send('POST', '/api/dataset/user/logout', { body: '', headers });
  expect(logout.status).toBe(401);
  await creator.read(nid);
});
