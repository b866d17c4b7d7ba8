// Many nodes for the public pages: one statement for each list.
import type { DatabaseSync } from 'node:sqlite';
import { prepareAll, type Statements } from './statements.ts';

/** The beginning of a description: sanitised HTML, which may be cut anywhere, else its plain text. */
interface Described {
  html: string | null;
  plain: string | null;
}

/** A published dataset in the list of them. */
export interface DatasetRow extends Described {
  nid: number;
  title: string;
  alias: string | null;
  /** Unix seconds. */
  changed: number;
  /** How many published resources it has. */
  resources: number;
}

/** A node that another one refers to; whether it may be shown is for the caller to say. */
export interface LinkedRow extends Described {
  nid: number;
  type: string;
  title: string;
  alias: string | null;
  status: number;
  uid: number;
  filename: string | null;
  filesize: number | null;
  /** Address of a file elsewhere, or of an API. */
  link: string | null;
  /** Name of the format. */
  format: string | null;
}

const described = `substr(coalesce(nullif(json_extract(r.fields, '$.body[0].safe_summary'), ''),
    json_extract(r.fields, '$.body[0].safe_value')), 1, 1500) AS html,
  substr(coalesce(nullif(json_extract(r.fields, '$.body[0].summary'), ''),
    json_extract(r.fields, '$.body[0].value')), 1, 1500) AS plain`;

const newest = 'sticky DESC, created DESC, nid DESC';

const statements = {
  count: "SELECT count(*) AS n FROM node WHERE type = 'dataset' AND status = 1",
  // The plus keeps SQLite from sorting all datasets: the index that has the wanted order is read until the page is full.
  datasets: `SELECT n.nid, n.title, n.alias, n.changed, ${described},
      (SELECT count(*) FROM reference l JOIN node t ON t.nid = l.target WHERE l.nid = n.nid AND t.status = 1) AS resources
    FROM (SELECT nid FROM node WHERE +type = 'dataset' AND status = 1 ORDER BY ${newest} LIMIT ? OFFSET ?) p
    JOIN node n ON n.nid = p.nid JOIN revision r ON r.vid = n.vid
    ORDER BY n.sticky DESC, n.created DESC, n.nid DESC`,
  linked: `SELECT n.nid, n.type, n.title, n.alias, n.status, n.uid, f.filename, f.filesize, t.name AS format, ${described},
      coalesce(json_extract(r.fields, '$.field_link_remote_file[0].uri'), json_extract(r.fields, '$.field_link_api[0].url')) AS link
    FROM reference l JOIN node n ON n.nid = l.target JOIN revision r ON r.vid = n.vid
    LEFT JOIN file f ON f.fid = (SELECT min(u.fid) FROM file_usage u WHERE u.nid = n.nid)
    LEFT JOIN term t ON t.tid = CAST(json_extract(r.fields, '$.field_format[0].tid') AS INTEGER)
    WHERE l.nid = ? ORDER BY l.delta LIMIT ?`,
  terms: 'SELECT t.name FROM json_each(?) j JOIN term t ON t.tid = j.value ORDER BY j.key',
};

/** Lists of nodes with what a page shows of each. */
export class PublicNodes {
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, statements);
  }

  /** How many published datasets there are. */
  count(): number {
    return Number(this.#sql.count.get()?.n ?? 0);
  }

  /** Published datasets: sticky ones first, then the newest. */
  datasets({ limit, offset }: { limit: number; offset: number }): DatasetRow[] {
    return this.#sql.datasets.all(limit, offset) as unknown as DatasetRow[]; // the columns of the SELECT
  }

  /** The nodes a node refers to, in order, `limit` at most. */
  linked(nid: number, limit: number): LinkedRow[] {
    return this.#sql.linked.all(nid, limit) as unknown as LinkedRow[]; // the columns of the SELECT
  }

  /** The names of terms, in the order of `tids`; unknown ones are left out. */
  termNames(tids: readonly number[]): string[] {
    return this.#sql.terms.all(JSON.stringify(tids)).map((row) => String(row.name));
  }
}
