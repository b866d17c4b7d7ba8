// The API of the package: the example of its page is run as it stands, and its types are checked.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { check, plan, publish, SluiceError } from '../src/api.ts';
import { commandPlace } from './support/command-place.ts';
import { blocksOf, root } from './support/pages.ts';

const place = commandPlace();
const options = { config: 'sluice.yaml', state: 'state', cwd: place.dir };

it('publishes, and says what it did; a second plan has nothing to do', async () => {
  const manifest = place.manifest('city', { good: 'id\n1\n', bad: 'id,\n1,2\n' });
  expect(await check(manifest, options)).toMatchObject({ ok: false, portal: null, files: [{ ok: true }, {}, {}] });
  const planned = { manifest: 'city', totals: { actions: { create: 3 } } };
  expect(await plan(manifest, options)).toMatchObject({ plans: [planned] });
  const [report] = (await publish([manifest], options)).reports;
  expect(report?.items.map(({ key, live }) => [key, live])).toEqual([
    ['city/one', true],
    ['city/one/bad', false],
    ['city/one/good', true],
  ]);
  expect(await plan(manifest, options)).toMatchObject({ plans: [{ totals: { actions: {} } }] });
});

it('rejects with the errors of the commands', async () => {
  await expect(publish('none.yaml', options)).rejects.toBeInstanceOf(SluiceError);
  await expect(plan('none.yaml', options)).rejects.toMatchObject({ code: 'manifest' });
});

it('runs the example of its page', () => {
  const example = blocksOf('docs/how-to/from-a-program.md').find(({ language }) => language === 'ts')?.text ?? '';
  const own = commandPlace();
  own.write('config/sluice.yaml', 'portals: { local: { kind: embedded } }\n');
  own.write('jobs/first.csv', 'id\n1\n');
  own.write(
    'jobs/first.yaml',
    JSON.stringify({ name: 'first', datasets: [{ id: 'd', title: 'D', resources: [{ id: 'r', file: 'first.csv' }] }] }),
  );
  const program = own.write(
    'example.ts',
    example.replace("'sluice'", JSON.stringify(pathToFileURL(join(root, 'src/api.ts')).href)),
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], { cwd: own.dir, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout.split('\n')).toEqual(['{ create: 2, attach: 1, import: 1 }', 'first/d true ', 'first/d/r true ', '']);
});
