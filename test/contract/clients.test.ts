// Clients nobody here wrote, by the specification's own examples: curl, and Python's own HTTP client with a form login.
import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestPortal, type TestPortal } from '../support/portal.ts';
import { tempDir } from '../support/temp-dir.ts';

const run = promisify(execFile);
const isThere = (program: string): boolean => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const hasCurl = isThere('curl');
const hasPython = isThere('python3');

let portal: TestPortal;
let dir: string;
beforeAll(async () => {
  portal = await startTestPortal();
  dir = tempDir();
  writeFileSync(join(dir, 'table.csv'), 'name,age\nAnn,30\nBob,41\n');
});

const python = `
import http.cookiejar, json, sys, urllib.parse, urllib.request
base = sys.argv[1]
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
def call(path, data=None, headers={}, method=None):
    request = urllib.request.Request(base + path, data=data, headers={'Accept': 'application/json', **headers}, method=method)
    return opener.open(request).read().decode()
form = lambda fields: urllib.parse.urlencode(fields).encode()
call('/api/dataset/user/login', form({'username': 'creator', 'password': 'pass'}))
token = call('/services/session/token', b'')
headers = {'X-CSRF-Token': token}
made = json.loads(call('/api/dataset/node', form({'type': 'dataset', 'title': 'Python set', 'body[und][0][value]': 'By form'}), headers))
put = form({'title': 'Python set, renamed'})
call('/api/dataset/node/' + made['nid'], put, {**headers, 'Content-Type': 'application/x-www-form-urlencoded'}, 'PUT')
node = json.loads(call('/api/dataset/node/' + made['nid'] + '.json'))
gone = call('/api/dataset/node/' + made['nid'], None, {**headers, 'Content-Type': 'application/json'}, 'DELETE')
print(json.dumps([node['title'], node['body']['und'][0]['value'], gone]))
`;

describe('the API by clients of others', () => {
  it.skipIf(!hasCurl)(
    `serves curl from login to datastore${hasCurl ? '' : ' (skipped: there is no curl)'}`,
    async () => {
      const jar = join(dir, 'jar');
      const curl = async (...args: string[]): Promise<string> => {
        const accept = args.includes('--no-accept') ? [] : ['-H', 'Accept: application/json'];
        const rest = args.filter((arg) => arg !== '--no-accept');
        return (await run('curl', ['-sS', '--fail-with-body', '-b', jar, '-c', jar, ...accept, ...rest])).stdout;
      };
      const json = ['-H', 'Content-Type: application/json'];
      const at = (path: string): string => `${portal.url}${path}`;
      const login = JSON.parse(
        await curl(...json, '-d', '{"username":"creator","password":"pass"}', at('/api/dataset/user/login')),
      );
      const token = await curl('-X', 'POST', '-H', 'Content-Length: 0', at('/services/session/token'));
      expect(token).toBe(login.token);
      const write = ['-H', `X-CSRF-Token: ${token}`];
      const dataset = JSON.parse(
        await curl(...json, ...write, '-d', '{"type":"dataset","title":"A set"}', at('/api/dataset/node')),
      );
      const input = JSON.stringify({
        type: 'resource',
        title: 'A table',
        field_dataset_ref: { und: [{ target_id: dataset.nid }] },
      });
      const { nid } = JSON.parse(await curl(...json, ...write, '-d', input, at('/api/dataset/node')));
      const parts = ['-F', 'attach=0', '-F', 'field_name=field_upload', '-F', `files[1]=@${join(dir, 'table.csv')}`];
      const attached = JSON.parse(await curl(...write, ...parts, at(`/api/dataset/node/${nid}/attach_file`)));
      expect(attached).toEqual({ fid: expect.stringMatching(/^\d+$/), uri: at(`/api/dataset/file/${attached.fid}`) });
      const status = await curl('--no-accept', at(`/api/dataset/datastore/${nid}`));
      expect(status).toMatch(/^---\nclass: .*\nstorage: 1\ndata_import: 2\nconfigurable_properties:\n/);
      expect(
        await curl('--no-accept', ...json, ...write, '-X', 'POST', at(`/api/dataset/datastore/${nid}/import`)),
      ).toBe('---\n- true\n');
      const list = JSON.parse(
        await curl('-g', at('/api/dataset/node.json?fields=title,nid&parameters[type]=resource')),
      );
      expect(list).toContainEqual(expect.objectContaining({ title: 'A table', nid }));
      const update = JSON.stringify({
        field_frequency: { und: { value: 'R/P1Y' } },
        field_license: { und: { select: { value: 'cc-by' } } },
      });
      await curl(...json, ...write, '-X', 'PUT', '-d', update, at(`/api/dataset/node/${dataset.nid}`));
      const node = JSON.parse(await curl(at(`/api/dataset/node/${dataset.nid}`)));
      expect(node.field_license.und[0].value).toBe('cc-by');
      expect(node.field_resources).toEqual({ und: [{ target_id: nid }] });
      expect(await curl('--no-accept', ...json, ...write, '-X', 'DELETE', at(`/api/dataset/datastore/${nid}`))).toBe(
        '---\n- true\n',
      );
      expect(await curl(...json, ...write, '-X', 'DELETE', at(`/api/dataset/node/${nid}`))).toBe('');
    },
  );

  it.skipIf(!hasPython)(
    `serves a form login from Python${hasPython ? '' : ' (skipped: there is no python3)'}`,
    async () => {
      const { stdout } = await run('python3', ['-c', python, portal.url]);
      expect(JSON.parse(stdout)).toEqual(['Python set, renamed', 'By form', '']);
    },
  );
});
