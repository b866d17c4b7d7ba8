// Checks the file that is the first argument; exits with 2 unless that took as many threads as the second says, which it leaves open.
import { checkTable } from '../../src/tables/check.ts';

const [path = '', wanted] = process.argv.slice(2);
let threads = 0;
process.on('worker', () => {
  threads += 1;
});
await checkTable(path);
process.exitCode = threads === Number(wanted) ? 0 : 2;
