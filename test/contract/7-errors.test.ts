// Specification, section 7, and the order of checks: errors.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const json = { 'content-type': 'application/json' };

describe('Errors', () => {
  it('have the message as one-element list, and in the reason phrase', async () => {
    const reply = await portal.anonymous.send('GET', '/api/dataset/node/9999');
    expect(reply.json()).toEqual(['Node 9999 could not be found']);
    expect(reply.reason).toBe('Not found : Node 9999 could not be found');
  });

  it.each([
    'parameters[nid]=%3E0',
    'parameters[nid]=%3C%3D5',
    'parameters[nid]=5&options[parameters_op][nid]=%3E',
    'parameters[title]=x&options[parameters_op][title]=LIKE',
  ])('queries using greater-than, less-than or another comparison are refused: %s', async (query) => {
    const reply = await portal.anonymous.send('GET', `/api/dataset/node?${query}`);
    expect(reply.status).toBe(406);
    expect(reply.text).toContain('only equality is supported');
  });

  it.each([
    ['route before format', 'POST', '/api/dataset/bogus.foo', '{', 404],
    ['format before body', 'POST', '/api/dataset/node.foo', '{', 406],
    ['body before arguments', 'POST', '/api/dataset/user/login', '{', 400],
    ['body before access', 'POST', '/api/dataset/node', '{', 400],
    ['body before existence', 'PUT', '/api/dataset/node/9999', '{', 400],
    ['existence before permission', 'PUT', '/api/dataset/node/9999', '{}', 404],
    ['type before permission', 'POST', '/api/dataset/node', '{}', 406],
  ])('%s', async (_name, method, path, body, status) => {
    expect((await portal.anonymous.send(method, path, { body, headers: json })).status).toBe(status);
  });

  it.each(['<script>alert(1)</script>', '%0d%0aset-cookie:%20x=y', '数据', '%00', 'é'.repeat(300), '%ff'])(
    'an id like %s is escaped in the body and cleaned in the reason',
    async (id) => {
      const reply = await portal.anonymous.send('GET', `/api/dataset/node/${encodeURI(id).replaceAll('%25', '%')}`);
      expect(reply.status).toBe(404);
      expect(reply.text).not.toContain('<script');
      expect(reply.reason.length).toBeLessThanOrEqual(200);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is left is the point
      expect(reply.reason).not.toMatch(/[\u0000-\u001f<>]/);
      expect(reply.headers['set-cookie']).toBeUndefined();
    },
  );

  it('carry the headers of every answer', async () => {
    for (const path of ['/api/dataset/node', '/api/dataset/node/9999', '/api/dataset/bogus']) {
      const { headers } = await portal.anonymous.send('GET', path);
      expect(headers).toMatchObject({
        expires: 'Sun, 19 Nov 1978 05:00:00 GMT',
        'cache-control': 'no-cache, must-revalidate',
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it('a Host header that is none is not echoed', async () => {
    const reply = await creator.send('GET', '/api/dataset/node?pagesize=1', { headers: { host: 'evil"><b>' } });
    expect(reply.text).not.toContain('evil');
  });
});
