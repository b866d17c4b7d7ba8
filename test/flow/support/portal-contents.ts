// Everything that a portal holds, read node by node and file by file, without what differs from portal to portal: ids and times.
import type { Caller, TestPortal } from '../../support/portal.ts';

interface Item {
  [property: string]: unknown;
}

/** What is compared of a dataset: title, state, fields, tags by name, its resources in their order. */
export interface Contents {
  title: string;
  status: string;
  fields: Record<string, unknown>;
  resources?: (Contents & { file: { name: string; content: string } | null; rows: unknown[] | null })[];
}

const ofPortal = new Set([
  'field_resources',
  'field_dataset_ref',
  'field_upload',
  'field_orphan',
  'field_datastore_status',
  'field_harvest_source_issued',
  'field_harvest_source_modified',
]);
const computed = new Set(
  `safe_value safe_summary attributes original_url original_title timezone timezone_db date_type db geo_type lat lon left top
   right bottom srid accuracy source`.split(/\s+/),
);

/** Reads a portal as this caller sees it, ordered by what the datasets hold. */
export const portalContents = async ({ url, anonymous }: TestPortal, caller: Caller): Promise<Contents[]> => {
  const rows = await listed(caller);
  const titles = new Map(rows.map(({ nid, title }) => [nid, title]));
  const tags = new Map<string, string[]>();
  const catalogue = await anonymous.send('GET', '/data.json?page=0');
  for (const { identifier, keyword = [] } of catalogue.json<{ dataset: { identifier: string; keyword?: string[] }[] }>()
    .dataset)
    tags.set(identifier, keyword);

  const fieldsOf = (node: Item): Record<string, unknown> => {
    const fields: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(node)) {
      if ((name !== 'body' && !name.startsWith('field_') && name !== 'og_group_ref') || ofPortal.has(name)) continue;
      const items = itemsOf(value).map((item) =>
        Object.fromEntries(
          Object.entries(item).filter(([key, part]) => !computed.has(key) && part !== null && part !== ''),
        ),
      );
      if (items.length === 0) continue;
      if (items.every((item) => 'tid' in item)) fields[name] = items.length;
      else
        fields[name] = items.map(({ target_id, ...item }) =>
          target_id ? { ...item, target: titles.get(String(target_id)) } : item,
        );
    }
    return fields;
  };

  // Resources that name a dataset whose list lacks them are its own all the same.
  const resourceNodes = new Map<string, Item>();
  const named = new Map<string, string[]>();
  for (const { nid, type } of rows) {
    if (type !== 'resource') continue;
    const node = await caller.read(nid);
    resourceNodes.set(nid, node);
    for (const { target_id } of itemsOf(node.field_dataset_ref))
      named.set(String(target_id), [...(named.get(String(target_id)) ?? []), nid]);
  }

  const resourceOf = async (node: Item): Promise<NonNullable<Contents['resources']>[number]> => {
    const [upload] = itemsOf(node.field_upload);
    const path = String(upload?.uri ?? '')
      .replace('public://', '')
      .split('/')
      .map(encodeURIComponent)
      .join('/');
    const served = upload
      ? await fetch(`${url}/sites/default/files/${path}`, { headers: { cookie: caller.cookie } })
      : null;
    const file =
      upload && served
        ? { name: String(upload.filename), content: served.ok ? await served.text() : `status ${served.status}` }
        : null;
    return {
      title: String(node.title),
      status: String(node.status),
      fields: fieldsOf(node),
      file,
      rows: file?.name.endsWith('.csv') ? await rowsOf(caller, String(node.uuid)) : null,
    };
  };

  const contents: Contents[] = [];
  for (const { nid, type } of rows) {
    if (type !== 'dataset') continue;
    const node = await caller.read(nid);
    const resources: Contents['resources'] = [];
    const own = itemsOf(node.field_resources).map(({ target_id }) => String(target_id));
    for (const one of new Set([...own, ...(named.get(nid) ?? [])])) {
      const resource = resourceNodes.get(one);
      if (resource) resources.push(await resourceOf(resource));
    }
    const names = tags.get(String(node.uuid));
    const fields = { ...fieldsOf(node), ...(names ? { tags: names } : {}) };
    contents.push({ title: String(node.title), status: String(node.status), fields, resources });
  }
  const keyOf = (dataset: Contents): string => JSON.stringify([dataset.title, dataset.fields.body]);
  return contents.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
};

const listed = async (caller: Caller): Promise<{ nid: string; type: string; title: string }[]> => {
  const rows: { nid: string; type: string; title: string }[] = [];
  for (let page = 0; ; page++) {
    const query = `fields=nid,type,title&options[orderby][nid]=ASC&pagesize=20&page=${page}`;
    const more = (await caller.send('GET', `/api/dataset/node?${query}`)).json<typeof rows>();
    rows.push(...more);
    if (more.length < 20) return rows;
  }
};

const itemsOf = (value: unknown): Item[] => {
  const items = value !== null && typeof value === 'object' && 'und' in value ? value.und : [];
  return Array.isArray(items) ? items : [];
};

const rowsOf = async (caller: Caller, uuid: string): Promise<unknown[] | null> => {
  const reply = await caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}&limit=100`);
  if (reply.status !== 200) return null;
  return reply.json<{ result?: { records?: unknown[] } }>().result?.records ?? null;
};
