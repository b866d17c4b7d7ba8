// A process with workers of the toy queues, until it is killed. Arguments: path of the Redis socket, and a trick if any.
import { flushCompileCache } from 'node:module';
import { Redis } from 'ioredis';
import { startToyWorkers } from './toy-workers.ts';

const [path = '', trick] = process.argv.slice(2);
await startToyWorkers(path, trick);
flushCompileCache(); // it will be killed, which leaves no time for that
const redis = new Redis({ path });
await redis.set('toy.ready', '1');
redis.disconnect();
