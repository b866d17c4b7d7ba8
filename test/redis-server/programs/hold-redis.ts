// Opens the embedded Redis of a state folder, says so in one line of JSON, leaves it at SIGTERM, and exits at once at SIGUSR2.
import { createLog } from '../../../src/model/log.ts';
import { openRedis } from '../../../src/redis-server/embedded.ts';

const [stateDir = ''] = process.argv.slice(2);
process.on('SIGINT', () => {}); // as a worker that drains: it ends in its own time
const log = createLog({ level: 'info', destination: process.stderr });
const handle = await openRedis({
  url: undefined,
  prefix: 'sluice',
  stateDir,
  appendfsync: 'everysec',
  fetch: false,
  env: { PATH: process.env.PATH, REDIS_SERVER_BIN: process.env.REDIS_SERVER_BIN },
  log,
});
const alive = setInterval(() => {});
process.once('SIGTERM', () => {
  clearInterval(alive);
  handle.close().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
});
process.once('SIGUSR2', () => process.exit(130));
process.stdout.write(`${JSON.stringify({ how: handle.how, path: handle.options.path })}\n`);
