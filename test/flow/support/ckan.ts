// A CKAN as its documentation of the action API has it, for what a bulk load needs: it refuses what CKAN refuses, and keeps the rest.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Busboy } from '@fastify/busboy';

type Fields = Record<string, unknown>;
type CkanResource = Fields & { id: string };
export type CkanDataset = Fields & {
  id: string;
  name: string;
  resources: CkanResource[];
  extras: Fields[];
  tags: Fields[];
};

class Refused extends Error {
  readonly status: number;
  readonly body: Fields;

  constructor(status: number, body: Fields) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
  }
}
const invalid = (field: string, what: string) => new Refused(409, { __type: 'Validation Error', [field]: [what] });

const isName = (name: unknown): boolean => typeof name === 'string' && /^[a-z0-9_-]{2,100}$/.test(name);
const isTag = (tag: unknown): boolean => typeof tag === 'string' && /^[\p{L}\p{N} ._-]{2,100}$/u.test(tag);

const checkDataset = ({ name, tags, extras }: CkanDataset): void => {
  if (!isName(name)) throw invalid('name', `not a name: ${name}`);
  for (const tag of tags) if (!isTag(tag.name)) throw invalid('tags', `not a tag: ${tag.name}`);
  const keys = extras.map(({ key }) => key);
  if (new Set(keys).size < keys.length) throw invalid('extras', 'There is a schema field with the same name');
  if (extras.some(({ value }) => typeof value !== 'string')) throw invalid('extras', 'not text');
};

export const openCkan = async () => {
  const [organizations, groups] = [new Map<string, Fields>(), new Map<string, Fields>()];
  const datasets = new Map<string, CkanDataset>();
  const uploads = new Map<string, { name: string; content: Buffer }>();
  const resources = () => [...datasets.values()].flatMap((dataset) => dataset.resources);
  const collection = (all: Map<string, Fields>) => (data: Fields) => {
    if (!isName(data.name)) throw invalid('name', `not a name: ${data.name}`);
    if (all.has(String(data.name))) throw invalid('name', 'Group name already exists in database');
    all.set(String(data.name), data);
    return data;
  };
  const checkPlace = ({ id, name, owner_org: owner, groups: own = [], resources: files }: CkanDataset): void => {
    if (datasets.has(id)) throw invalid('id', 'Dataset id already exists');
    if ([...datasets.values()].some((each) => each.name === name)) throw invalid('name', 'That URL is already in use.');
    if (!organizations.has(String(owner))) throw invalid('owner_org', 'Organization does not exist');
    for (const group of own as Fields[]) if (!groups.has(String(group.name))) throw invalid('groups', 'does not exist');
    if (files.some((each) => resources().some((other) => other.id === each.id)))
      throw invalid('resources', 'id exists');
  };
  const actions: Record<string, (data: Fields, upload: { name: string; content: Buffer } | null) => unknown> = {
    organization_create: collection(organizations),
    group_create: collection(groups),
    package_create: (data) => {
      const dataset = { extras: [], tags: [], resources: [], ...data } as unknown as CkanDataset;
      checkDataset(dataset);
      checkPlace(dataset);
      datasets.set(dataset.id, dataset);
      return dataset;
    },
    resource_patch: (data, upload) => {
      const resource = resources().find(({ id }) => id === data.id);
      if (!resource) throw new Refused(404, { __type: 'Not Found Error', message: 'Not found' });
      Object.assign(resource, data);
      if (upload) {
        Object.assign(resource, { url: upload.name, url_type: 'upload' });
        uploads.set(resource.id, upload);
      }
      return resource;
    },
  };
  const server = createServer((request, response) => {
    const answer = (status: number, body: Fields): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    bodyOf(request)
      .then(({ data, upload }) => {
        const action = actions[new URL(request.url ?? '', 'http://x').pathname.split('/').at(-1) ?? ''];
        if (!action) throw new Refused(400, { __type: 'Bad Request', message: 'unknown action' });
        answer(200, { success: true, result: action(data, upload) });
      })
      .catch((error: unknown) => {
        if (error instanceof Refused) answer(error.status, { success: false, error: error.body });
        else answer(500, { success: false, error: { message: String(error) } });
      });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ organizations, groups, datasets, uploads },
    close: () => void server.close(),
  };
};

/** JSON, or a form with fields and the file `upload`. */
const bodyOf = (request: IncomingMessage) =>
  new Promise<{ data: Fields; upload: { name: string; content: Buffer } | null }>((done, fail) => {
    const type = request.headers['content-type'] ?? '';
    if (!type.startsWith('multipart/')) {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => done({ data: JSON.parse(Buffer.concat(chunks).toString() || '{}'), upload: null }));
      return;
    }
    const data: Fields = {};
    let upload: { name: string; content: Buffer } | null = null;
    const form = new Busboy({ headers: { ...request.headers, 'content-type': type } });
    form.on('field', (name, value) => {
      data[name] = value;
    });
    form.on('file', (_field, stream, name) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        upload = { name: String(name), content: Buffer.concat(chunks) };
      });
    });
    form.on('finish', () => done({ data, upload }));
    form.on('error', fail);
    request.pipe(form);
  });
