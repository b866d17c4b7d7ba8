// Serves a portal in a process of its own, to be killed. Arguments: folder, users as JSON. Prints its address.
import { createLog } from '../../src/log.ts';
import { startPortalServer } from '../../src/server/portal-server.ts';

const [dataDir = '', users = ''] = process.argv.slice(2);
const server = await startPortalServer({ dataDir, users: JSON.parse(users), log: createLog({ level: 'silent' }) });
process.stdout.write(`${server.url}\n`);
