// Becomes the user `nobody`, then opens the embedded Redis of a state folder where nothing but apt-get is at hand.
// The rights are given up after the imports, because the project may lie where nobody cannot read.
import { Redis } from 'ioredis';
import { createLog } from '../../../src/model/log.ts';
import { openRedis } from '../../../src/redis-server/embedded.ts';

const [stateDir = '', PATH = ''] = process.argv.slice(2);
process.setgroups?.([]);
process.setgid?.(65534);
process.setuid?.(65534);
const log = createLog({ level: 'info', destination: process.stderr });
const env = { PATH, HOME: '/nonexistent' };
const handle = await openRedis({
  url: undefined,
  prefix: 'sluice',
  stateDir,
  appendfsync: 'everysec',
  fetch: true,
  env,
  log,
});
const client = new Redis(handle.options);
await client.set('key', 'value');
const report = { uid: process.getuid?.(), binary: handle.binary, read: await client.get('key') };
await client.quit();
await handle.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
