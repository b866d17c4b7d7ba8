// Reads a portal through its HTTP API with plain fetch: what is really there, without our own client.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A node as the list shows it. */
export interface Row {
  nid: string;
  uuid: string;
  type: string;
  title: string;
  status: string;
}

/** A logged-in reader of one portal. */
export interface Reader {
  url: string;
  list(): Promise<Row[]>;
  read(nid: string): Promise<Record<string, unknown> & { title: string; uuid: string; status: string; log: string }>;
  /** Title of every node below one of these types. */
  titles(type: 'dataset' | 'resource'): Promise<string[]>;
  /** Rows of a resource in the datastore, null when there is none. */
  count(uuid: string): Promise<number | null>;
  records(uuid: string): Promise<Record<string, unknown>[]>;
  /** Name, size and bytes of the file of a resource, null when it has none. */
  file(nid: string): Promise<{ fid: string; name: string; bytes: number; content: string } | null>;
  remove(nid: string): Promise<void>;
  change(nid: string, body: Record<string, unknown>): Promise<void>;
  /** Makes a node; returns its number. */
  create(body: Record<string, unknown>): Promise<string>;
  /** Replaces the file of a resource. */
  attach(nid: string, name: string, content: string): Promise<void>;
  /** Drops the rows of a resource from the datastore. */
  dropRows(nid: string): Promise<void>;
}

interface Login {
  session_name: string;
  sessid: string;
  token: string;
}

/** Logs in and reads. */
export const openReader = async (url: string, username: string, password: string): Promise<Reader> => {
  const login = await json<Login>(
    await fetch(`${url}/api/dataset/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ username, password }),
    }),
  );
  const headers = { accept: 'application/json', cookie: `${login.session_name}=${login.sessid}` };
  const get = async <T>(path: string): Promise<T> => json<T>(await fetch(`${url}${path}`, { headers }));
  const list = async (): Promise<Row[]> => {
    const rows: Row[] = [];
    for (let page = 0; ; page++) {
      const more = await get<Row[]>(
        `/api/dataset/node?fields=nid,uuid,type,title,status&options[orderby][nid]=ASC&pagesize=20&page=${page}`,
      );
      rows.push(...more);
      if (more.length < 20) return rows;
    }
  };
  const send = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, 'x-csrf-token': login.token, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return json<T>(reply);
  };
  const search = async (uuid: string, limit: number) => {
    const reply = await fetch(`${url}/api/action/datastore/search.json?resource_id=${uuid}&limit=${limit}`, {
      headers,
    });
    const text = await reply.text();
    if (!reply.ok) return null;
    const { result } = JSON.parse(text) as { result?: { total?: unknown; records?: Record<string, unknown>[] } };
    return result?.total === undefined ? null : { total: Number(result.total), records: result.records ?? [] };
  };
  return {
    url,
    list,
    read: (nid) => get(`/api/dataset/node/${nid}`),
    titles: async (type) =>
      (await list())
        .filter((row) => row.type === type)
        .map((row) => row.title)
        .sort(),
    count: async (uuid) => (await search(uuid, 1))?.total ?? null,
    records: async (uuid) => (await search(uuid, 100))?.records ?? [],
    file: async (nid) => {
      const node = await get<{
        field_upload?: { und?: { fid: string; filename: string; filesize: string; uri: string }[] };
      }>(`/api/dataset/node/${nid}`);
      const item = node.field_upload?.und?.[0];
      if (!item) return null;
      const path = item.uri.replace('public://', '').split('/').map(encodeURIComponent).join('/');
      const bytes = await fetch(`${url}/sites/default/files/${path}`, { headers });
      const content = await bytes.text();
      return { fid: item.fid, name: item.filename, bytes: Number(item.filesize), content };
    },
    remove: (nid) => send('DELETE', `/api/dataset/node/${nid}`),
    change: (nid, body) => send('PUT', `/api/dataset/node/${nid}`, body),
    create: async (body) => String((await send<{ nid: unknown }>('POST', '/api/dataset/node', body)).nid),
    attach: async (nid, name, content) => {
      const form = new FormData();
      form.set('files[1]', new Blob([content], { type: 'text/csv' }), name);
      form.set('field_name', 'field_upload');
      form.set('attach', '0');
      const path = `${url}/api/dataset/node/${nid}/attach_file`;
      const { token } = login;
      await json(await fetch(path, { method: 'POST', headers: { ...headers, 'x-csrf-token': token }, body: form }));
    },
    dropRows: (nid) => send('DELETE', `/api/dataset/datastore/${nid}.json`),
  };
};

/** Reads the embedded portal of a place as the service account. */
export const readEmbedded = (stateDir: string, name = 'local'): Promise<Reader> => {
  const folder = join(stateDir, 'portal', name);
  const [address, password] = ['address', 'service.password'].map((file) =>
    readFileSync(join(folder, file), 'utf8').trim(),
  );
  return openReader(address ?? '', 'sluice', password ?? '');
};

const json = async <T>(reply: Response): Promise<T> => {
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${reply.url}: ${reply.status} ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
};

/** Titles or uuids that stand more than once. */
export const doubles = (rows: Row[]): string[] => {
  const seen = new Set<string>();
  return rows.flatMap(({ uuid, title, type }) =>
    [uuid, `${type} ${title}`].filter((name) => {
      const twice = seen.has(name);
      seen.add(name);
      return twice;
    }),
  );
};
