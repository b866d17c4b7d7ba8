// Specification, section 1: what the service does, response formats, request parser types.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, multipart, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

describe('Response formats', () => {
  const types = {
    bencode: 'application/x-bencode',
    json: 'application/json',
    jsonp: 'text/javascript;charset=UTF-8',
    php: 'application/vnd.php.serialized',
    xml: 'application/xml',
    yaml: 'text/plain;charset=UTF-8',
  };

  it.each(Object.entries(types))('a path suffix .%s selects that format', async (suffix, type) => {
    const nid = await creator.create({ type: 'dataset', title: 'Formats' });
    const reply = await portal.anonymous.send('GET', `/api/dataset/node/${nid}.${suffix}`);
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe(type);
    expect(reply.headers.vary).toBeUndefined();
    expect(reply.text).toContain('Formats');
  });

  it('the header Accept: application/json asks for JSON, and the answer varies with it', async () => {
    const reply = await portal.anonymous.send('GET', '/api/dataset/node');
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.headers.vary).toBe('Accept');
  });

  it.each(['', '*/*'])('without a wish (Accept "%s") the answer is JSON', async (accept) => {
    const reply = await portal.anonymous.send('GET', '/api/dataset/node', { headers: { accept } });
    expect(reply.headers['content-type']).toBe('application/json');
  });

  it('a suffix takes precedence over Accept', async () => {
    const reply = await portal.anonymous.send('GET', '/api/dataset/node.xml');
    expect(reply.headers['content-type']).toBe('application/xml');
  });

  it.each(['/api/dataset/node.foo', '/api/dataset/node.JSON'])(
    'an unknown format (%s) is 406 with an empty body',
    async (path) => {
      const reply = await portal.anonymous.send('GET', path);
      expect([reply.status, reply.text]).toEqual([406, '']);
      expect(reply.reason).toBe('Not Acceptable : Unknown or unsupported response format.');
    },
  );

  it('errors come in the format that was requested', async () => {
    const json = await portal.anonymous.send('GET', '/api/dataset/node/9999.json');
    const xml = await portal.anonymous.send('GET', '/api/dataset/node/9999.xml');
    expect(json.json()).toEqual(['Node 9999 could not be found']);
    expect(xml.text).toContain('<result>Node 9999 could not be found</result>');
  });
});

describe('Request parser types', () => {
  const bodies: [string, string][] = [
    ['application/json', '{"type":"dataset","title":"Parsed","body":{"und":[{"value":"b"}]}}'],
    ['application/json; charset=UTF-8', '{"type":"dataset","title":"Parsed","body":{"und":[{"value":"b"}]}}'],
    ['application/x-www-form-urlencoded', 'type=dataset&title=Parsed&body[und][0][value]=b'],
    ['application/x-yaml', 'type: dataset\ntitle: Parsed\nbody: { und: [ { value: b } ] }\n'],
    [
      'application/xml',
      '<node><type>dataset</type><title>Parsed</title><body><und is_array="true"><item><value>b</value></item></und></body></node>',
    ],
    [
      'text/xml',
      '<node><type>dataset</type><title>Parsed</title><body><und is_array="true"><item><value>b</value></item></und></body></node>',
    ],
    [
      'application/vnd.php.serialized',
      'a:3:{s:4:"type";s:7:"dataset";s:5:"title";s:6:"Parsed";s:4:"body";a:1:{s:3:"und";a:1:{i:0;a:1:{s:5:"value";s:1:"b";}}}}',
    ],
  ];

  it.each(bodies)('%s is accepted', async (type, body) => {
    const reply = await creator.send('POST', '/api/dataset/node', { body, headers: { 'content-type': type } });
    expect(reply.text).toContain('"nid"');
    const node = await creator.read(reply.json<{ nid: string }>().nid);
    expect(node.title).toBe('Parsed');
    expect(node.body).toMatchObject({ und: [{ value: 'b' }] });
  });

  it('multipart/form-data is accepted', async () => {
    const sent = multipart([
      { name: 'type', value: 'dataset' },
      { name: 'title', value: 'Parsed' },
      { name: 'body[und][0][value]', value: 'b' },
    ]);
    const reply = await creator.send('POST', '/api/dataset/node', sent);
    const node = await creator.read(reply.json<{ nid: string }>().nid);
    expect(node.body).toMatchObject({ und: [{ value: 'b' }] });
  });

  it('a body without content type is form-encoded', async () => {
    const reply = await creator.send('POST', '/api/dataset/node', { body: 'type=dataset&title=Bare' });
    expect(reply.status).toBe(200);
  });

  it('the case of a content type does not matter', async () => {
    const body = JSON.stringify({ type: 'dataset', title: 'Case' });
    const headers = { 'content-type': 'Application/JSON; Charset=UTF-8' };
    expect((await creator.send('POST', '/api/dataset/node', { body, headers })).status).toBe(200);
  });

  it.each(['text/plain', 'application/octet-stream'])('%s is refused with 406', async (type) => {
    const reply = await creator.send('POST', '/api/dataset/node', { body: '{}', headers: { 'content-type': type } });
    expect(reply.status).toBe(406);
    expect(reply.json()).toEqual([`Unsupported request content type ${type}`]);
  });

  it('form-encoded bodies address nested fields with bracket keys', async () => {
    const body = 'type=dataset&title=Keys&field_tags[und][0][name]=one&field_tags[und][1][name]=two';
    const reply = await creator.send('POST', '/api/dataset/node', {
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const node = await creator.read(reply.json<{ nid: string }>().nid);
    expect((node.field_tags as { und: unknown[] }).und).toHaveLength(2);
  });

  it.each([
    ['application/json', '{"type":', 400],
    ['application/json', 'null', 400],
    ['application/x-yaml', 'a: b: c\n - ][', 400],
    ['application/xml', '<a><b></a>', 406],
    ['application/vnd.php.serialized', 'not serialized', 400],
  ])('a malformed %s body (%s) is refused and says where', async (type, body, status) => {
    const reply = await creator.send('POST', '/api/dataset/node', { body, headers: { 'content-type': type } });
    expect(reply.status).toBe(status);
    expect(reply.json<string[]>()[0]).toMatch(/^Invalid /);
  });
});

describe('Routes', () => {
  it('the endpoint itself tells that it is set up', async () => {
    const reply = await portal.anonymous.send('GET', '/api/dataset');
    expect(reply.text).toBe('Services Endpoint "dkan_dataset_api" has been setup successfully.');
  });

  it.each([
    ['GET', '/api/dataset/bogus', 'Could not find resource bogus.'],
    ['GET', '/api/dataset/Node', 'Could not find resource Node.'],
    ['GET', '/api/dataset/comment', 'Could not find resource comment.'],
    ['GET', '/api/dataset/user', 'Could not find the controller.'],
    ['POST', '/api/dataset/user', 'Could not find the controller.'],
    ['PUT', '/api/dataset/node', 'Could not find the controller.'],
    ['DELETE', '/api/dataset/node', 'Could not find the controller.'],
    ['POST', '/api/dataset/node/1', 'Could not find the controller.'],
    ['PATCH', '/api/dataset/node/1', 'Could not find the controller.'],
    ['PURGE', '/api/dataset/node/1', 'Could not find the controller.'],
    ['GET', '/api/dataset/node/0', 'Could not find the controller.'],
  ])('%s %s is 404 with an empty body and the reason in the status line', async (method, path, words) => {
    const reply = await portal.anonymous.send(method, path);
    expect([reply.status, reply.reason, reply.text]).toEqual([404, `Not found : ${words}`, '']);
    expect(reply.headers['content-type']).toBe('text/html; charset=UTF-8');
  });

  it('slashes that follow each other are one, as for the web servers before such portals', async () => {
    for (const path of ['//api/dataset/node', '/api//dataset/node', '/api/dataset//node', '//healthz']) {
      expect([path, (await portal.anonymous.send('GET', path)).status]).toEqual([path, 200]);
    }
  });

  it('a trailing slash is redirected, the query kept', async () => {
    const reply = await portal.anonymous.send('GET', '/api/dataset/node/?pagesize=1');
    expect([reply.status, reply.headers.location]).toEqual([301, `${portal.url}/api/dataset/node?pagesize=1`]);
  });

  it('the prefix is found whatever its case', async () => {
    expect((await portal.anonymous.send('GET', '/API/Dataset/node?pagesize=1')).status).toBe(200);
  });

  it.each(['HEAD', 'OPTIONS'])('%s answers 200 with an empty body for every known resource', async (method) => {
    const reply = await portal.anonymous.send(method, '/api/dataset/node/9999');
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect((await portal.anonymous.send(method, '/api/dataset/bogus')).status).toBe(404);
  });

  it('POST acts as the method in _method or X-HTTP-Method-Override, and the token is requested all the same', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Override' });
    const path = `/api/dataset/node/${nid}`;
    const bare = await creator.send('POST', `${path}?_method=DELETE`, { headers: { 'x-csrf-token': '' } });
    expect(bare.status).toBe(401);
    const update = await creator.send('POST', `${path}?_method=PUT`, { body: { title: 'Overridden' } });
    expect(update.status).toBe(200);
    expect((await creator.read(nid)).title).toBe('Overridden');
    const removed = await creator.send('POST', path, { headers: { 'x-http-method-override': 'DELETE' } });
    expect(removed.status).toBe(200);
    expect((await creator.send('GET', path)).status).toBe(404);
  });

  it('what is outside the service is the 404 page of the site', async () => {
    for (const path of ['/api', '/api/datasets', '/api/dataset.json', '/services/session/token.json', '/%zz']) {
      const reply = await portal.anonymous.send('GET', path);
      expect(reply.status).toBe(404);
      expect(reply.text).toContain('<title>Page not found');
    }
  });

  it('GET /healthz tells that the portal is well', async () => {
    const reply = await portal.anonymous.send('GET', '/healthz');
    expect(reply.json()).toMatchObject({ status: 'ok', profile: 'spec' });
  });
});
