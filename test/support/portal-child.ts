// Serves a portal in a process of its own, to be killed. Arguments: folder, options as JSON. Prints its address.
import { startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';

const [dataDir = '', options = '{}'] = process.argv.slice(2);
const server = await startPortalServer({ ...JSON.parse(options), dataDir, log: createLog({ level: 'silent' }) });
process.stdout.write(`${server.url}\n`);
