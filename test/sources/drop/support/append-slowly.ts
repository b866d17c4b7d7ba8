// Child process of the inbox tests: writes rows into a file one by one. argv: <path> <rows> <ms between> <reopen|hold>
import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

const [path = '', rows = '0', ms = '0', how] = process.argv.slice(2);
const fd = how === 'hold' ? openSync(path, 'a') : null;
for (let row = 0; row < Number(rows); row += 1) {
  if (fd === null) appendFileSync(path, `${row},x\n`);
  else writeSync(fd, `${row},x\n`);
  await wait(Number(ms));
}
if (fd !== null) closeSync(fd);
