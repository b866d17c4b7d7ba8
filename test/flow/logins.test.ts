// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations refer to secrets
// Sources behind a login: files, and catalogues with their pages; what is kept on the way holds no secret.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { openGatedPortal } from './support/gated-portal.ts';
import { makeRemotePlace } from './support/remote-place.ts';

const { gateway } = await openGatedPortal();
const server = await startSources();
const env = { TOKEN: 'tok-3f9a77' };

it('files and the pages of a catalogue are fetched with the login, which is kept nowhere', async () => {
  const sources = {
    allow: ['127.0.0.1'],
    requestsPerSecond: 0,
    credentials: { [server.url]: { bearer: '${TOKEN}' } },
  };
  const place = makeRemotePlace(gateway.url, { sources });
  const page = (id: string) => ({
    dataset: [
      {
        identifier: id,
        title: id,
        description: id,
        distribution: [{ downloadURL: `${server.url}/${id}.csv`, mediaType: 'text/csv' }],
      },
    ],
  });
  for (const id of ['one', 'two', 'three']) server.on(`/${id}.csv`, fileAnswer(`id\n${id}\n`, {}));
  server.on('/data.json', ({ url }, response) => {
    const isFirst = !url?.includes('page=1');
    const link = isFirst ? { link: `<${server.url}/data.json?page=1>; rel="next"` } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...link });
    response.end(JSON.stringify(page(isFirst ? 'one' : 'two')));
  });
  const catalogue = { from: `${server.url}/data.json`, files: 'fetch' };
  const resources = [{ id: 'three', title: 'Three', url: `${server.url}/three.csv` }];
  for (const manifest of [
    place.manifest({ name: 'all', catalogue }),
    place.manifest({ name: 'files', datasets: [{ id: 'd', title: 'D', resources }] }),
  ]) {
    const { code, err, report } = await place.publish(manifest, { env });
    expect(code, err).toBe(0);
    expect(JSON.stringify(report) + err).not.toContain(env.TOKEN);
  }
  expect(new Set(server.asked.map(({ path }) => path))).toEqual(
    new Set(['/data.json', '/one.csv', '/two.csv', '/three.csv']),
  );
  expect(new Set(server.asked.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${env.TOKEN}`]));
  const files = readdirSync(place.dir, { recursive: true, encoding: 'utf8' }).map((name) => join(place.dir, name));
  const found = files.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  expect(found.length).toBeGreaterThan(3); // the data of Redis among them
  expect(found.filter((path) => readFileSync(path).includes(env.TOKEN))).toEqual([]);
});
