// Child process of the spool tests: takes every claim of an inbox out of its spool. argv: <archive|quarantine> <inbox>
import { archiveClaim, foldersOf, listClaims, quarantineClaim } from '../../../../src/sources/drop/spool.ts';

const [way, inbox = ''] = process.argv.slice(2);
for (const claim of await listClaims(foldersOf(inbox).spool)) {
  if (way === 'archive') await archiveClaim(claim, { keep: 2 });
  else await quarantineClaim(claim, { code: 'table-ragged', message: 'row 2 has 3 cells', hint: null, line: 2 });
}
