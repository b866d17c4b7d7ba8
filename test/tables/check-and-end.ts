// Checks the file that is its argument and leaves the threads of the check open.
import { checkTable } from '../../src/tables/check.ts';

const [path = ''] = process.argv.slice(2);
await checkTable(path);
