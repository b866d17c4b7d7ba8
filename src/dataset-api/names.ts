// Names made of other names: ids and titles of files, folders and rows, and the columns of a datastore.
import { idPattern } from '../model/key.ts';

const letters: Record<string, string> = { ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i' };

/** Turns a name into an id (`City Budget` -> `city-budget`, `Zürich` -> `zurich`); null when nothing usable is left. */
export const slugOf = (name: string): string | null => {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const slug = plain
    .replaceAll(/[ßæœøđðþłı]/g, (letter) => letters[letter] ?? letter)
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
  return idPattern.test(slug) ? slug : null;
};

/** The name itself where it is an id, else an id made of it; null when none can be made. */
export const idOfName = (name: string): string | null => (idPattern.test(name) ? name : slugOf(name));

/** Turns a name into a title: `city-budget` -> `City budget`. */
export const titleOfName = (name: string): string => {
  const words = name.replaceAll(/[-_\s\p{C}]+/gu, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Words that portals append `_` to: those that SQL reserves, and `entry_id`, the portal's own serial column. */
const reserved = new Set(
  `entry_id
  accessible add all alter analyze and as asc asensitive before between bigint binary blob both by call cascade case
  change char character check collate column condition constraint continue convert create cross current_date
  current_time current_timestamp current_user cursor database databases day_hour day_microsecond day_minute day_second
  dec decimal declare default delayed delete desc describe deterministic distinct distinctrow div double drop dual each
  else elseif enclosed escaped exists exit explain false fetch float float4 float8 for force foreign from fulltext grant
  group having high_priority hour_microsecond hour_minute hour_second if ignore in index infile inner inout insensitive
  insert int int1 int2 int3 int4 int8 integer interval into is iterate join key keys kill leading leave left like limit
  linear lines load localtime localtimestamp lock long longblob longtext loop low_priority
  master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint minute_microsecond
  minute_second mod modifies natural not no_write_to_binlog null numeric on optimize option optionally or order out
  outer outfile precision primary procedure purge range read reads read_write real references regexp release rename
  repeat replace require resignal restrict return revoke right rlike schema schemas second_microsecond select sensitive
  separator set show signal smallint spatial specific sql sqlexception sqlstate sqlwarning sql_big_result
  sql_calc_found_rows sql_small_result ssl starting straight_join table terminated then tinyblob tinyint tinytext to
  trailing trigger true undo union unique unlock unsigned update usage use using utc_date utc_time utc_timestamp values
  varbinary varchar varcharacter varying when where while with write xor year_month zerofill`.split(/\s+/),
);

export const longestColumnName = 64;

/** The column name of a header cell as portals make it (recorded-behaviour 13a); empty when nothing is left. */
export const portalColumnName = (cell: string): string => {
  const clean = cell
    .replace(/[^A-Za-z0-9_ ]/g, '')
    .trim()
    .toLowerCase()
    .replaceAll(' ', '_');
  const name = /^[0-9]+$/.test(clean) ? `__num_${clean}` : clean;
  return (reserved.has(name) ? `${name}_` : name).slice(0, longestColumnName);
};

/** Names that some portals drop, hide or change: their own key, and what searches leave out. */
const unstable = new Set(['entry_id', 'entry_id_', 'timestamp']);

/** True for a header cell or column whose name portals treat differently. */
export const isUnstableColumn = (name: string): boolean => unstable.has(portalColumnName(name));

/** How many columns every portal shows of these: what tables and files are compared by. */
export const countedColumns = (names: readonly string[]): number =>
  names.filter((name) => !isUnstableColumn(name)).length;
