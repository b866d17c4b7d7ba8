import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MalformedBody } from '../../src/embedded-portal/media/value.ts';
import { parseRpcCall, writeRpcAnswer, writeRpcFault } from '../../src/embedded-portal/xmlrpc.ts';
import { startTestPortal, type TestPortal } from '../support/portal.ts';

const message = (method: string, ...params: string[]): string =>
  `<?xml version="1.0"?><methodCall><methodName>${method}</methodName><params>${params.map((param) => `<param><value>${param}</value></param>`).join('')}</params></methodCall>`;

const struct = (members: Record<string, string>): string =>
  `<struct>${Object.entries(members)
    .map(([name, value]) => `<member><name>${name}</name><value>${value}</value></member>`)
    .join('')}</struct>`;

const call = async (portal: TestPortal, body: string, headers: Record<string, string> = {}): Promise<string> =>
  (await portal.anonymous.send('POST', '/api/xmlrpc', { body, headers: { 'content-type': 'text/xml', ...headers } }))
    .text;

describe('the XML-RPC server', () => {
  it('is off by default', async () => {
    const portal = await startTestPortal();
    const reply = await portal.anonymous.send('POST', '/api/xmlrpc', { body: message('node.index') });
    expect(reply.status).toBe(404);
  });

  it('logs in, creates, reads, lists and deletes over the same resources, with the same permissions', async () => {
    const portal = await startTestPortal({ xmlrpc: true });
    const login = await call(portal, message('user.login', '<string>creator</string>', '<string>pass</string>'));
    const read = (name: string): string =>
      new RegExp(`<name>${name}</name><value><string>([^<]+)`).exec(login)?.[1] ?? '';
    const session = { cookie: `${read('session_name')}=${read('sessid')}` };
    const create = message('node.create', struct({ type: 'dataset', title: 'By &lt;RPC&gt;' }));
    expect(await call(portal, create)).toContain('Access denied for user anonymous');
    expect(await call(portal, create, session)).toContain('CSRF validation failed');
    const headers = { ...session, 'x-csrf-token': read('token') };
    expect(await call(portal, create, headers)).toContain('<name>nid</name><value><string>1</string>');
    expect(await call(portal, message('node.retrieve', '<int>1</int>'))).toContain('By &lt;RPC&gt;');
    const list = message(
      'node.index',
      '<int>0</int>',
      '<string>nid,title</string>',
      struct({ type: '<string>dataset</string>' }),
    );
    expect(await call(portal, list)).toContain('<name>title</name>');
    expect(await call(portal, message('node.delete', '1'), headers)).toContain('<boolean>1</boolean>');
    expect(await call(portal, message('node.retrieve', '1'))).toContain('<int>404</int>');
  });

  it('takes base64 as the text that it stands for, and nil as a parameter that is left out', async () => {
    const portal = await startTestPortal({ xmlrpc: true });
    const creator = await portal.as('creator');
    const headers = { cookie: creator.cookie, 'x-csrf-token': creator.token };
    const title = `<base64>${Buffer.from('Bäume').toString('base64')}</base64>`;
    const made = await call(portal, message('node.create', struct({ type: 'dataset', title })), headers);
    expect(made).toContain('<name>nid</name>');
    expect(await creator.read('1')).toMatchObject({ title: 'Bäume' });
    const list = message('node.index', '<nil/>', '<string>title</string>', '<nil/>', '<int>5</int>');
    expect(await call(portal, list)).toContain('<string>Bäume</string>');
  });

  it('attaches a file that is sent as base64, byte for byte, and replaces it when asked to', async () => {
    const portal = await startTestPortal({ xmlrpc: true });
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'resource', title: 'Table' });
    const headers = { cookie: creator.cookie, 'x-csrf-token': creator.token };
    const bytes = Buffer.from('id,word\n1,\u00e9\n');
    const attach = (content: Buffer, more: Record<string, string> = {}, type = 'base64'): string => {
      const file = struct({ filename: 'table.csv', file: `<${type}>${content.toString('base64')}</${type}>` });
      const files = `<array><data><value>${file}</value></data></array>`;
      return message('node.attach_file', `<int>${nid}</int>`, struct({ field_name: 'field_upload', files, ...more }));
    };
    expect(await call(portal, attach(bytes))).toContain('Access denied');
    expect(await call(portal, attach(bytes), headers)).toMatch(/<name>fid<\/name><value><string>\d+/);
    const held = async () => {
      const node = (await creator.read(nid)) as {
        field_upload: { und: { filename: string; filesize: string; uri: string }[] };
      };
      const [file] = node.field_upload.und;
      const path = `/sites/default/files/${file?.uri.replace('public://', '')}`;
      return { ...file, text: (await creator.send('GET', path)).text };
    };
    expect(await held()).toMatchObject({
      filename: 'table.csv',
      filesize: String(bytes.length),
      text: bytes.toString(),
    });
    expect(await call(portal, attach(Buffer.from('id\n2\n')), headers)).toContain('<name>faultCode</name>');
    expect(readdirSync(join(portal.server.dataDir, 'files'))).toHaveLength(1);
    const other = Buffer.from('id\n2\n');
    expect(await call(portal, attach(other, { attach: '<int>0</int>' }, 'string'), headers)).toContain(
      '<name>fid</name>',
    );
    expect(await held()).toMatchObject({ text: 'id\n2\n' });
  });

  it.each([
    ['no bytes', struct({ filename: 'a.csv' })],
    ['no name', struct({ file: '<base64>aGk=</base64>' })],
    ['no file', '<string>a.csv</string>'],
  ])('refuses an upload with %s, and leaves nothing on disk', async (_what, file) => {
    const portal = await startTestPortal({ xmlrpc: true });
    const creator = await portal.as('creator');
    const nid = await creator.create({ type: 'resource', title: 'Table' });
    const headers = { cookie: creator.cookie, 'x-csrf-token': creator.token };
    const files = `<array><data><value>${file}</value></data></array>`;
    const body = message('node.attach_file', nid, struct({ field_name: 'field_upload', files }));
    expect(await call(portal, body, headers)).toMatch(/<int>400<\/int>.*A file needs a filename/);
    expect(await creator.read(nid)).not.toHaveProperty('field_upload.und');
  });

  it.each(['node.bogus', 'bogus', '', 'constructor'])('answers a fault for the unknown method "%s"', async (method) => {
    const portal = await startTestPortal({ xmlrpc: true });
    expect(await call(portal, message(method))).toMatch(/<int>404<\/int>.*There is no method/);
  });
});

describe('XML-RPC messages', () => {
  const parse = (text: string) => parseRpcCall(Buffer.from(text));

  it('hold values of every type', () => {
    const body = message(
      'm',
      'bare',
      '<i4>-7</i4>',
      '<double>1.5</double>',
      '<boolean>1</boolean>',
      '<nil/>',
      '<array><data><value>a</value><value><int>2</int></value></data></array>',
      struct({ x: '<string> é &amp; </string>' }),
      '<base64>aGk=</base64>',
    );
    expect(parse(body)).toEqual({
      method: 'm',
      params: ['bare', -7, 1.5, true, null, ['a', 2], { x: ' é & ' }, Buffer.from('hi')],
    });
  });

  it.each([
    '',
    'no xml',
    '<methodCall></methodCall>',
    '<a/>',
    message('m', '<int>x</int>'),
    message('m', '<what>1</what>'),
    message('m', `<double>${'1'.repeat(400)}</double>`),
    message('m', struct({ __proto__x: '1' }).replace('__proto__x', '__proto__')),
    `<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>${message('m', '&b;')}`,
    message('m', `${'<array><data><value>'.repeat(500)}x${'</value></data></array>'.repeat(500)}`),
  ])('that are malformed or dangerous are refused (%#)', (text) => {
    expect(() => parse(text)).toThrow(MalformedBody);
  });

  it('hold numbers, which are read in time that grows with their length', () => {
    const begun = performance.now();
    expect(() => parse(message('m', `<double>${'1'.repeat(100_000)}x</double>`))).toThrow(/a <double> holds no number/);
    expect(performance.now() - begun).toBeLessThan(2000);
  });

  it('are written with names and texts escaped', () => {
    expect(writeRpcAnswer({ a: ['<&>', 1, 1.5, true, null] })).toContain(
      '<member><name>a</name><value><array><data><value><string>&lt;&amp;&gt;</string></value><value><int>1</int></value><value><double>1.5</double></value><value><boolean>1</boolean></value><value><nil/></value></data></array></value></member>',
    );
    expect(writeRpcFault(403, 'no')).toContain('<name>faultCode</name><value><int>403</int></value>');
  });
});

it('system.listMethods names the methods that exist', async () => {
  const portal = await startTestPortal({ xmlrpc: true, expose: { node: ['index', 'retrieve'] } });
  const answer = await call(portal, '<methodCall><methodName>system.listMethods</methodName></methodCall>');
  const names = [...answer.matchAll(/<string>([^<]*)<\/string>/g)].map((match) => match[1]);
  expect(names).toEqual(['system.listMethods', 'node.index', 'node.retrieve']);
});
