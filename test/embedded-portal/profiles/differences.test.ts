// docs/embedded-portal/differences.md and the portal, kept in step: one check for each row of its first table.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, multipart, startTestPortal, type TestPortal } from '../../support/portal.ts';

interface Side {
  portal: TestPortal;
  creator: Caller;
  admin: Caller;
}

const sides: Partial<Record<'spec' | 'dkan-7.18', Side>> = {};

const side = (name: 'spec' | 'dkan-7.18'): Side => {
  const found = sides[name];
  if (found === undefined) throw new Error(`${name} has not started`);
  return found;
};

beforeAll(async () => {
  for (const profile of ['spec', 'dkan-7.18'] as const) {
    const portal = await startTestPortal({ profile });
    sides[profile] = { portal, creator: await portal.as('creator'), admin: await portal.as('admin') };
  }
});

/** Runs the same on both sides; the results are what `spec` and `dkan-7.18` do. */
const both = async <T>(work: (side: Side) => Promise<T>): Promise<[T, T]> => [
  await work(side('spec')),
  await work(side('dkan-7.18')),
];

const create = async ({ admin }: Side, body: object) =>
  admin.send('POST', '/api/dataset/node', { body: { type: 'dataset', title: 'x', ...body } });

const fieldOf = async (one: Side, body: Record<string, unknown>, field: string): Promise<unknown> => {
  const reply = await create(one, body);
  return reply.status === 200 ? (await one.admin.read(reply.json<{ nid: string }>().nid))[field] : reply.status;
};

const table = 'a,b\n1,2\n';

const withFile = async ({ admin }: Side, content = table, name = 'a.csv') => {
  const nid = await admin.create({ type: 'resource', title: 'x' });
  return { nid, reply: await admin.attach(nid, { name, content }) };
};

const imported = async (one: Side, content?: string) => {
  const { nid } = await withFile(one, content);
  const reply = await one.admin.send('POST', `/api/dataset/datastore/${nid}/import`);
  const status = (await one.admin.send('GET', `/api/dataset/datastore/${nid}.json`)).json();
  return { reply, status };
};

const statusOf = async (one: Side, body: object): Promise<number> => (await create(one, body)).status;

const listOf = async ({ admin }: Side, query: string, headers: Record<string, string> = {}) =>
  admin.send('GET', `/api/dataset/node?${query}`, { headers });

const checks: Record<string, () => Promise<void>> = {
  'input-shapes': async () => {
    expect(await both((one) => fieldOf(one, { field_author: 'Ann' }, 'field_author'))).toMatchObject([
      { und: [{ value: 'Ann' }] },
      [],
    ]);
    expect(await both((one) => statusOf(one, { field_author: { en: [{ value: 'Ann' }] } }))).toEqual([406, 200]);
  },
  'unknown-keys': async () => {
    expect(await both((one) => statusOf(one, { titel: 'x' }))).toEqual([406, 200]);
  },
  'strict-lists': async () => {
    const keys = await both(async (one) => Object.keys((await listOf(one, 'fields=nid')).json<object[]>()[0] ?? {}));
    expect(keys).toEqual([['nid'], ['nid', 'uri']]);
    const query = 'parameters[nid]=5&options[parameters_op][nid]=%3E';
    expect(await both(async (one) => (await listOf(one, query)).status)).toEqual([406, 200]);
  },
  'json-first': async () => {
    const accept = 'application/json, text/plain, */*';
    const types = await both(async (one) => (await listOf(one, 'page=0', { accept })).headers['content-type']);
    expect(types).toEqual(['application/json', 'text/plain;charset=UTF-8']);
  },
  'double-slashes': async () => {
    const statuses = (path: string) => both(async ({ admin }) => (await admin.send('GET', path)).status);
    expect(await statuses('//api//dataset/node')).toEqual([200, 200]);
    expect(await statuses('/api/dataset//node')).toEqual([200, 404]);
  },
  'replaced-file': async () => {
    const uris = await both(async (one) => {
      const { nid } = await withFile(one, table, 'again.csv');
      await one.admin.attach(nid, { name: 'again.csv', content: table });
      return ((await one.admin.read(nid)).field_upload as { und: [{ uri: string }] }).und[0].uri;
    });
    expect(uris).toEqual(['public://again.csv', 'public://again_0.csv']);
  },
  'user-object': async () => {
    const users = await both(async ({ creator }) => (await creator.send('GET', '/api/dataset/user/3')).json());
    expect(users.map(({ init, data }) => [typeof init, data])).toEqual([
      ['string', 'b:0;'],
      ['undefined', false],
    ]);
  },
  'term-lookup': async () => {
    const path = '/api/dataset/taxonomy_term?parameters[name]=csv';
    expect(await both(async ({ admin }) => (await admin.send('GET', path)).status)).toEqual([200, 404]);
  },
  'dead-cookies': async () => {
    const answers = await both(async ({ portal, admin }) => {
      const cookie = `${admin.cookie.split('=')[0]}=${'x'.repeat(43)}`;
      return (await portal.anonymous.send('GET', '/api/dataset/node', { headers: { cookie } })).headers['set-cookie'];
    });
    expect(answers.map((cookie) => String(cookie).includes('=deleted'))).toEqual([false, true]);
  },
  author: async () => {
    expect(await both((one) => fieldOf(one, {}, 'uid'))).toEqual(['1', '0']);
  },
  'title-required': async () => {
    expect(await both((one) => fieldOf(one, { title: '' }, 'title'))).toEqual([406, '']);
  },
  language: async () => {
    expect(await both((one) => fieldOf(one, {}, 'language'))).toEqual(['und', '']);
  },
  'both-input-styles': async () => {
    const license = { field_license: { und: { select: { value: 'cc-by' } } } };
    const [spec, recorded] = await both((one) => fieldOf(one, license, 'field_license'));
    expect(spec).toMatchObject({ und: [{ value: 'cc-by' }] });
    expect(recorded).toBe(500);
  },
  'uuid-conflict': async () => {
    const uuid = '11111111-2222-4333-8444-555555555555';
    expect(
      await both(async (one) => {
        await create(one, { uuid });
        return (await create(one, { uuid })).status;
      }),
    ).toEqual([409, 200]);
  },
  'nid-in-body': async () => {
    expect(
      await both(async (one) => {
        const nid = await one.admin.create({ type: 'dataset', title: 'kept' });
        const other = await one.admin.create({ type: 'dataset', title: 'x' });
        const { status } = await one.admin.send('PUT', `/api/dataset/node/${other}`, { body: { nid, title: 'taken' } });
        expect((await one.admin.read(nid)).title).toBe('kept');
        return status;
      }),
    ).toEqual([406, 500]);
  },
  'field-errors': async () => {
    const replies = await both((one) => create(one, { field_frequency: { und: [{ value: 'daily' }] } }));
    expect(replies.map((reply) => reply.status)).toEqual([406, 500]);
    expect(replies[0].json()).toHaveProperty('form_errors.field_frequency');
    expect(replies[1].json()).toEqual(['Field validation errors']);
  },
  'tags-by-name': async () => {
    const [spec, recorded] = await both((one) =>
      fieldOf(one, { field_tags: { und: [{ name: 'new' }] } }, 'field_tags'),
    );
    expect(spec).toMatchObject({ und: [{ tid: expect.any(String) }] });
    expect(recorded).toBe(500);
  },
  'malformed-geometry': async () => {
    const geometry = { field_spatial: { und: [{ wkt: 'NOT WKT' }] } };
    const [spec, recorded] = await both((one) => fieldOf(one, geometry, 'field_spatial'));
    expect(spec).toBe(406);
    expect(recorded).toMatchObject({ und: [{ wkt: null, lat: null }] });
  },
  'remote-file': async () => {
    const remote = { type: 'resource', field_link_remote_file: { und: [{ uri: 'http://example.org/a.csv' }] } };
    const [spec, recorded] = await both((one) => fieldOf(one, remote, 'field_link_remote_file'));
    expect(spec).toMatchObject({ und: [{ uri: 'http://example.org/a.csv' }] });
    expect(recorded).toEqual([]);
  },
  'every-update-a-revision': async () => {
    expect(
      await both(async ({ admin }) => {
        const nid = await admin.create({ type: 'dataset', title: 'x' });
        const { vid } = await admin.read(nid);
        const { status } = await admin.send('PUT', `/api/dataset/node/${nid}`, { body: { title: 'y', revision: 0 } });
        return [status, (await admin.read(nid)).vid === vid];
      }),
    ).toEqual([
      [406, true],
      [200, true],
    ]);
  },
  'attach-answer': async () => {
    const [spec, recorded] = await both(async (one) => (await withFile(one)).reply.json<unknown>());
    const file = { fid: expect.any(String), uri: expect.any(String) };
    expect(spec).toEqual(file);
    expect(recorded).toEqual([file]);
  },
  'attach-filled': async () => {
    expect(
      await both(async (one) => {
        const { nid } = await withFile(one);
        return (await one.admin.attach(nid, { name: 'b.csv', content: table, attach: '1' })).status;
      }),
    ).toEqual([406, 500]);
  },
  'attach-without-file': async () => {
    const parts = multipart([
      { name: 'attach', value: '0' },
      { name: 'field_name', value: 'field_upload' },
    ]);
    expect(
      await both(async (one) => {
        const { nid } = await withFile(one);
        const { status } = await one.admin.send('POST', `/api/dataset/node/${nid}/attach_file`, parts);
        return [status, Array.isArray((await one.admin.read(nid)).field_upload)];
      }),
    ).toEqual([
      [406, false],
      [200, true],
    ]);
  },
  'import-at-once': async () => {
    expect(
      await both(async (one) => {
        const { nid } = await withFile(one);
        return (await one.admin.send('GET', `/api/dataset/datastore/${nid}.json`)).json().storage;
      }),
    ).toEqual([1, 0]);
  },
  'datastore-status-field': async () => {
    expect(
      await both(async (one) => {
        const { nid } = await withFile(one);
        await one.admin.send('POST', `/api/dataset/datastore/${nid}/import`);
        return (await one.admin.read(nid)).field_datastore_status;
      }),
    ).toEqual([{ und: [{ value: '2' }] }, { und: [{ value: '0' }] }]);
  },
  'status-numbers': async () => {
    expect(await both(async (one) => (await imported(one)).status.data_import)).toEqual([2, 6]);
  },
  'failed-import': async () => {
    const results = await both((one) => imported(one, 'a,b\n1,2\n3\n'));
    expect(results.map(({ reply }) => reply.status)).toEqual([406, 200]);
    expect(results.map(({ status }) => status.data_import)).toEqual([7, 7]);
  },
  'resumed-import': async () => {
    const totals = await both(async (one) => {
      const { nid } = await withFile(one, 'a\n1\n2\n');
      const { uuid } = await one.admin.read(nid);
      await one.admin.send('POST', `/api/dataset/datastore/${nid}/import`);
      await one.admin.attach(nid, { name: 'b.csv', content: 'a\n7\n8\n9\n' });
      await one.admin.send('POST', `/api/dataset/datastore/${nid}/import`);
      const rows = await one.admin.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
      return rows.json<{ result: { records: { a: string }[] } }>().result.records.map(({ a }) => a);
    });
    expect(totals).toEqual([
      ['7', '8', '9'],
      ['1', '2', '9'],
    ]);
  },
  'wide-tables': async () => {
    const header = (columns: number) => `${Array.from({ length: columns }, (_, index) => `c${index}`).join(',')}\n`;
    const statuses = async (columns: number) =>
      (await both((one) => imported(one, `${header(columns)}${header(columns)}`))).map(({ reply }) => reply.status);
    expect([await statuses(383), await statuses(384)]).toEqual([
      [200, 200],
      [200, 500],
    ]);
  },
  'search-limits': async () => {
    const lengths = await both(async (one) => {
      const { nid } = await withFile(one, `a\n${'1\n'.repeat(300)}`);
      const { uuid } = await one.admin.read(nid);
      await one.admin.send('POST', `/api/dataset/datastore/${nid}/import`);
      const lengthOf = async (caller: Caller, limit: number) => {
        const rows = await caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&limit=${limit}`);
        return rows.json<{ result: { records: unknown[] } }>().result.records.length;
      };
      return [await lengthOf(one.creator, 0), await lengthOf(one.creator, 200), await lengthOf(one.admin, 200)];
    });
    expect(lengths).toEqual([
      [300, 200, 200],
      [100, 100, 200],
    ]);
  },
  'delete-answer': async () => {
    expect(
      await both(async ({ admin }) => {
        const nid = await admin.create({ type: 'dataset', title: 'x' });
        return (await admin.send('DELETE', `/api/dataset/node/${nid}`)).text;
      }),
    ).toEqual(['', '[true]']);
  },
  'file-resource': async () => {
    expect(
      await both(async (one) => {
        const made = (await withFile(one)).reply.json<{ fid: string } | [{ fid: string }]>();
        const { fid } = Array.isArray(made) ? made[0] : made;
        return (await one.admin.send('GET', `/api/dataset/file/${fid}`)).status;
      }),
    ).toEqual([200, 404]);
  },
  'file-item-keys': async () => {
    expect(
      await both(async (one) => {
        const { nid } = await withFile(one);
        const { field_upload } = await one.admin.read(nid);
        return 'alt' in ((field_upload as { und: object[] }).und[0] ?? {});
      }),
    ).toEqual([true, false]);
  },
  'hidden-files': async () => {
    expect(
      await both(async ({ admin, portal }) => {
        const nid = await admin.create({ type: 'resource', title: 'x', status: 0 });
        await admin.attach(nid, { name: 'secret.csv', content: table });
        return (await portal.anonymous.send('GET', '/sites/default/files/secret.csv')).status;
      }),
    ).toEqual([403, 200]);
  },
  'default-format': async () => {
    const types = await both(async ({ portal }) => {
      const reply = await portal.anonymous.send('GET', '/api/dataset/node', { headers: { accept: '*/*' } });
      return reply.headers['content-type'];
    });
    expect(types).toEqual(['application/json', 'text/yaml;charset=UTF-8']);
  },
  'yaml-and-php-bodies': async () => {
    const send = (type: string, body: string) =>
      both(async ({ admin }) => {
        const reply = await admin.send('POST', '/api/dataset/node', { body, headers: { 'content-type': type } });
        return [reply.status, reply.status === 200 ? 'created' : reply.json<string[]>()[0]];
      });
    expect(await send('application/x-yaml', 'type: dataset\ntitle: y\n')).toEqual([
      [200, 'created'],
      [406, 'Node type is required'],
    ]);
    expect(await send('application/vnd.php.serialized', 'a:2:{s:4:"type";s:7:"dataset";s:5:"title";s:1:"p";}')).toEqual(
      [
        [200, 'created'],
        [406, 'Unsupported request content type application/vnd.php.serialized'],
      ],
    );
  },
  'malformed-body': async () => {
    const [spec, recorded] = await both(async ({ admin }) => {
      const headers = { 'content-type': 'application/json' };
      return (await admin.send('POST', '/api/dataset/node', { body: '{"a":', headers })).json<string[]>()[0];
    });
    expect(spec).toMatch(/^Invalid JSON\. .+/);
    expect(recorded).toBe('Invalid JSON.');
  },
  'list-errors': async () => {
    const texts = await both(
      async ({ portal }) => (await portal.anonymous.send('GET', '/api/dataset/node?fields=bogus')).text,
    );
    expect(texts.map((text) => text.includes('SQLSTATE'))).toEqual([false, true]);
  },
  pages: async () => {
    const statuses = await both(async (one) => {
      const nid = (await create(one, { title: 'Shown', status: 1 })).json<{ nid: string }>().nid;
      const { pathname } = new URL(String((await one.admin.read(nid)).path));
      const replies = [pathname, '/'].map((path) => one.portal.anonymous.send('GET', path));
      return (await Promise.all(replies)).map(({ status }) => status);
    });
    expect(statuses).toEqual([
      [200, 200],
      [404, 404],
    ]);
  },
  cookie: async () => {
    const cookies = await both(async ({ portal }) => {
      const body = { username: 'editor', password: 'pass' };
      return String((await portal.anonymous.send('POST', '/api/dataset/user/login', { body })).headers['set-cookie']);
    });
    expect(cookies.map((cookie) => cookie.includes('SameSite=Lax'))).toEqual([true, false]);
  },
  'private-files': async () => {
    const statuses = await both(async ({ admin, creator }) => {
      const nid = await admin.create({ type: 'resource', title: 'x', status: 0 });
      await admin.attach(nid, { name: 'private.csv', content: table });
      const { field_upload: upload } = (await admin.read(nid)) as { field_upload: { und: { fid: string }[] } };
      const fid = upload.und[0]?.fid;
      const body = { type: 'resource', title: 'y', field_upload: { und: [{ fid }] } };
      return (await creator.send('POST', '/api/dataset/node', { body })).status;
    });
    expect(statuses).toEqual([406, 200]);
  },
  'foreign-references': async () => {
    const statuses = await both(async ({ admin, creator }) => {
      const target_id = await admin.create({ type: 'dataset', title: 'x', status: 1 });
      const body = { type: 'resource', title: 'y', field_dataset_ref: { und: [{ target_id }] } };
      return (await creator.send('POST', '/api/dataset/node', { body })).status;
    });
    expect(statuses).toEqual([403, 200]);
  },
  accounts: async () => {
    const statuses = await both(async ({ portal }) => {
      const body = { username: 'blocked', password: 'pass' };
      const login = await portal.anonymous.send('POST', '/api/dataset/user/login', { body });
      return [login.status, (await portal.anonymous.send('GET', '/api/dataset/user/5')).status];
    });
    expect(statuses).toEqual([
      [401, 403],
      [403, 200],
    ]);
  },
  flags: async () => {
    const body = { type: 'dataset', title: 'x', sticky: 1 };
    const statuses = await both(
      async ({ creator }) => (await creator.send('POST', '/api/dataset/node', { body })).status,
    );
    expect(statuses).toEqual([406, 200]);
  },
  caches: async () => {
    const found = await both(async ({ creator, portal }) => {
      const { headers } = await creator.send('GET', '/api/dataset/node');
      const list = await portal.anonymous.send('GET', '/api/dataset/node', { headers: { host: 'elsewhere.example' } });
      return [headers['cache-control'], list.text.includes('elsewhere.example')];
    });
    expect(found).toEqual([
      ['private, no-store', false],
      ['no-cache, must-revalidate', true],
    ]);
  },
};

const documented = (): string[] => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/embedded-portal/differences.md'), 'utf8');
  const section = text.slice(text.indexOf('## `spec` and'));
  return [...section.matchAll(/^\| ([a-z-]+) \|/gm)].map((match) => match[1] ?? '').filter((id) => id !== 'difference');
};

describe('docs/embedded-portal/differences.md', () => {
  it('has a row for each difference that is checked here, and no other', () => {
    expect(documented().toSorted()).toEqual(Object.keys(checks).toSorted());
  });

  it.each(Object.keys(checks))('%s is as the table says', async (id) => {
    await checks[id]?.();
  });
});
