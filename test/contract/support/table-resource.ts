// A resource with a table, for the sections on its datastore.
import type { Caller, Reply } from '../../support/portal.ts';

/** Three rows. */
export const table = 'name,age\nAnn,30\nBob,41\nCid,5\n';

/** Creates a resource and attaches the file. */
export const createTable = async (
  caller: Caller,
  { name = 'table.csv', content = table }: { name?: string; content?: string } = {},
): Promise<{ nid: string; uuid: string }> => {
  const nid = await caller.create({ type: 'resource', title: 'Table' });
  await caller.attach(nid, { name, content });
  return { nid, uuid: String((await caller.read(nid)).uuid) };
};

/** Path of a datastore, or of what is done with it. */
export const datastorePath = (nid: string, action = ''): string => `/api/dataset/datastore/${nid}${action}`;

/** Headers of a caller who takes any format, which gets YAML. */
export const anyFormat = { headers: { accept: '*/*' } };

/** What the search says of a table. */
export const searchFor = (caller: Caller, uuid: string): Promise<Reply> =>
  caller.send('GET', `/api/action/datastore/search.json?resource_id=${uuid}`);
