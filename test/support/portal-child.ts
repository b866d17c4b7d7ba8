// Serves a portal in a process of its own, to be killed. Arguments: folder. Prints its address.
import { createLog } from '../../src/log.ts';
import { startPortalServer } from '../../src/server/portal-server.ts';

const [dataDir = ''] = process.argv.slice(2);
const users = [{ name: 'writer', password: 'pass', roles: ['editor'] }];
const server = await startPortalServer({ dataDir, users, log: createLog({ level: 'silent' }) });
process.stdout.write(`${server.url}\n`);
