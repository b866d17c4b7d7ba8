// Attaches one version of a table after the other to one resource; kills itself some milliseconds after a number of them.
// Arguments: folder, attaches, milliseconds.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatastore, uniform } from './open-datastore.ts';

const [dir = '', attaches = '0', delay = '0'] = process.argv.slice(2);
const d = openDatastore(dir);
await d.datastore.sweep();
const first = Date.now();
for (let version = first; ; version++) {
  if (version === first + Number(attaches)) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(delay));
  const content = uniform(3000, String(version));
  if ((await d.attach('1', content)) !== 'imported') throw new Error('a sound table was not imported');
  appendFileSync(join(dir, 'acknowledged'), `${version}\n`);
}
