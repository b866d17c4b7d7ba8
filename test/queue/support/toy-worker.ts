// A process with workers of the toy queues. Arguments: path of the Redis socket, and a trick if any.
import { flushCompileCache } from 'node:module';
import { Redis } from 'ioredis';
import { startToyWorkers } from './toy-workers.ts';

const [path = '', trick] = process.argv.slice(2);
const { stop } = await startToyWorkers(path, trick);
process.on('SIGTERM', () => {
  stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
flushCompileCache(); // it will be killed, which leaves no time for that
const redis = new Redis({ path });
await redis.set('toy.ready', '1');
redis.disconnect();
