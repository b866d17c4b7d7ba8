// A process with workers of the toy queues, until it is killed. Arguments: its database as JSON, and a trick if any.
import { flushCompileCache } from 'node:module';
import { Redis } from 'ioredis';
import { startToyWorkers } from './toy-workers.ts';

const [database = '{}', trick] = process.argv.slice(2);
await startToyWorkers(JSON.parse(database), trick);
flushCompileCache(); // it will be killed, which leaves no time for that
const redis = new Redis(JSON.parse(database));
await redis.set('toy.ready', '1');
redis.disconnect();
