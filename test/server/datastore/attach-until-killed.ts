// Attaches one version of a table after the other to one resource until it kills itself. Arguments: folder, milliseconds.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatastore, uniform } from './open-datastore.ts';

const [dir = '', lifetime = '0'] = process.argv.slice(2);
const d = openDatastore(dir);
await d.datastore.sweep();
setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(lifetime));
for (let version = Date.now(); ; version++) {
  const content = uniform(3000, String(version));
  if ((await d.attach('1', content)) !== 'imported') throw new Error('a sound table was not imported');
  appendFileSync(join(dir, 'acknowledged'), `${version}\n`);
}
