// Nodes, their revisions, the references between them, and what pages list of them; and uploaded files, whose bytes lie under their uuid outside any web root.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { statementsOf } from './statements.ts';

export type NodeType = 'dataset' | 'resource' | 'group' | 'page';

/** Field items by field name, as a read shows them; a field without a value has no key. References and files excepted. */
export type FieldItems = Record<string, Record<string, unknown>[]>;

/** A row of the node table. Times are Unix seconds. */
type NodeRow = { type: NodeType } & Record<'language' | 'title' | 'uuid', string> &
  Record<'nid' | 'vid' | 'uid' | 'status' | 'created' | 'changed' | 'comment' | 'promote' | 'sticky', number> &
  Record<'tnid' | 'translate', number>;

export type NodeColumn = keyof NodeRow;

/** The columns of the node table, in the order in which lists show them (recorded behaviour 6). */
export const nodeColumns =
  'nid vid type language title uid status created changed comment promote sticky tnid translate uuid'.split(
    ' ',
  ) as NodeColumn[]; // as written

export interface StoredNode extends NodeRow {
  /** Public path without the leading slash, such as `dataset/city-budget`, or null. */
  alias: string | null;
  vuuid: string;
  log: string;
  revisionTimestamp: number;
  revisionUid: number;
  fields: FieldItems;
}

/** A node in a list, with the beginning of its description: sanitised HTML, which may be cut anywhere, else its plain text. */
export interface ListedRow {
  nid: number;
  title: string;
  alias: string | null;
  html: string | null;
  plain: string | null;
}

export interface DatasetRow extends ListedRow {
  /** Unix seconds. */
  changed: number;
  /** How many published resources it has. */
  resources: number;
  /** The published groups that it belongs to, else its author. */
  publisher: string | null;
}

/** A node that another one refers to; whether it may be shown is for the caller to say. */
export interface LinkedRow extends ListedRow {
  type: string;
  status: number;
  uid: number;
  filename: string | null;
  filesize: number | null;
  /** Address of a file elsewhere, or of an API. */
  link: string | null;
  format: string | null;
}

type NewNode = Omit<StoredNode, 'nid' | 'vid' | 'tnid' | 'translate'>;

const selectNode = `SELECT n.nid, r.vid, n.type, n.language, r.title, n.uid, r.status, n.created,
    n.changed, n.comment, n.promote, n.sticky, n.tnid, n.translate, n.uuid, n.alias, r.vuuid, r.log,
    r.timestamp AS revisionTimestamp, r.uid AS revisionUid, r.fields
  FROM node n JOIN revision r ON`;

const described = `substr(coalesce(nullif(json_extract(r.fields, '$.body[0].safe_summary'), ''),
    json_extract(r.fields, '$.body[0].safe_value')), 1, 1500) AS html,
  substr(coalesce(nullif(json_extract(r.fields, '$.body[0].summary'), ''),
    json_extract(r.fields, '$.body[0].value')), 1, 1500) AS plain`;

const newest = 'n.sticky DESC, n.created DESC, n.nid DESC';

const publisher = `coalesce((SELECT group_concat(g.title, ', ') FROM json_each(r.fields, '$.og_group_ref') e
    JOIN node g ON g.nid = CAST(e.value ->> '$.target_id' AS INTEGER) AND g.status = 1), r.fields ->> '$.field_author[0].value')`;

const selectDatasets = `SELECT n.nid, n.title, n.alias, n.changed, ${described}, ${publisher} AS publisher,
    (SELECT count(*) FROM reference l JOIN node t ON t.nid = l.target WHERE l.nid = n.nid AND t.status = 1) AS resources
  FROM json_each(?) p JOIN node n ON n.nid = p.value JOIN revision r ON r.vid = n.vid ORDER BY p.key`;

const selectWords = `SELECT n.nid, n.title, concat_ws(' ', n.title, r.fields ->> '$.body[0].value', ${publisher},
    (SELECT group_concat(t.name, ' ') FROM json_each(r.fields, '$.field_tags') e
      JOIN term t ON t.tid = CAST(e.value ->> '$.tid' AS INTEGER)),
    (SELECT group_concat(t.title, ' ') FROM reference l JOIN node t ON t.nid = l.target
      WHERE l.nid = n.nid AND t.status = 1)) AS words
  FROM node n JOIN revision r ON r.vid = n.vid WHERE +n.type = 'dataset' AND n.status = 1 ORDER BY ${newest}`;

const selectLinked = `SELECT n.nid, n.type, n.title, n.alias, n.status, n.uid, f.filename, f.filesize, t.name AS format, ${described},
    coalesce(json_extract(r.fields, '$.field_link_remote_file[0].uri'), json_extract(r.fields, '$.field_link_api[0].url')) AS link
  FROM reference l JOIN node n ON n.nid = l.target JOIN revision r ON r.vid = n.vid
  LEFT JOIN file f ON f.fid = (SELECT min(u.fid) FROM file_usage u WHERE u.nid = n.nid)
  LEFT JOIN term t ON t.tid = CAST(json_extract(r.fields, '$.field_format[0].tid') AS INTEGER)
  WHERE l.nid = ? ORDER BY l.delta LIMIT ?`;

/** What the node table holds of a node beside its type and revision. */
const rowOf = ({ language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias }: NewNode) => {
  return { language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias };
};

/** What a revision holds of a node beside its uuid. */
const revisionOf = ({ revisionUid: uid, revisionTimestamp: timestamp, title, log, status, fields }: NewNode) => {
  return { uid, timestamp, title, log, status, fields: JSON.stringify(fields) };
};

/** Opens the node, revision and reference tables. What changes something is to be called inside a write. */
export const openNodes = (db: DatabaseSync) => {
  const { row, rows, column, value, count, insert, update, run } = statementsOf(db);
  const nodeBy = (joined: string) => {
    const sql = `${selectNode} ${joined}`;
    return (id: number | string): StoredNode | null => {
      const found = row<Omit<StoredNode, 'fields'> & { fields: string }>(sql, id);
      return found === null ? null : { ...found, fields: JSON.parse(found.fields) }; // as revisionOf() wrote it
    };
  };
  const addRevision = (nid: number, node: NewNode): number =>
    insert('revision', { nid, vuuid: node.vuuid, ...revisionOf(node) });
  const clearTargets = (nid: number) => run`DELETE FROM reference WHERE nid = ${nid}`;
  return {
    byNid: nodeBy('r.vid = n.vid WHERE n.nid = ?'),
    /** A node as that revision has it; its references, files and alias are the present ones. */
    atRevision: nodeBy('r.nid = n.nid WHERE r.vid = ?'),
    byUuid: nodeBy('r.vid = n.vid WHERE n.uuid = ? ORDER BY n.nid LIMIT 1'),
    /** The nids of a type with exactly that title, whatever its case; twenty at most. */
    byTitle: (type: string, title: string) =>
      column<number>`SELECT nid FROM node WHERE type = ${type} AND title = ${title} ORDER BY nid LIMIT 20`,
    aliasOwner: (alias: string) => value<number>`SELECT nid FROM node WHERE alias = ${alias}`,
    /** Adds a node with its first revision; returns its nid. */
    insert: (node: NewNode): number => {
      const last = value<number>`SELECT seq FROM sqlite_sequence WHERE name = 'revision'`;
      const nid = insert('node', { type: node.type, vid: (last ?? 0) + 1, ...rowOf(node) });
      addRevision(nid, node);
      return nid;
    },
    /** Writes a changed node: as a new revision, or over the current one (`newRevision` false). */
    update: (node: StoredNode, { newRevision }: { newRevision: boolean }): void => {
      const vid = newRevision ? addRevision(node.nid, node) : node.vid;
      if (!newRevision) update('revision', ['vid', vid], revisionOf(node));
      update('node', ['nid', node.nid], { vid, ...rowOf(node) });
    },
    /** Moves "changed" without a new revision, as attaching a file and a reference written from the other side do. */
    touch: (nid: number, { at, uid }: { at: number; uid: number }): void => {
      run`UPDATE node SET changed = ${at} WHERE nid = ${nid}`;
      run`UPDATE revision SET timestamp = ${at}, uid = ${uid} WHERE vid = (SELECT vid FROM node WHERE nid = ${nid})`;
    },
    setAlias: (alias: string | null, nid: number) => run`UPDATE node SET alias = ${alias} WHERE nid = ${nid}`,
    /** Removes a node with its revisions and the references it holds. */
    remove: (nid: number): void => {
      clearTargets(nid);
      run`DELETE FROM revision WHERE nid = ${nid}`;
      run`DELETE FROM node WHERE nid = ${nid}`;
    },
    targets: (nid: number) => column<number>`SELECT target FROM reference WHERE nid = ${nid} ORDER BY delta`,
    sources: (nid: number) => column<number>`SELECT DISTINCT nid FROM reference WHERE target = ${nid} ORDER BY nid`,
    setTargets: (nid: number, targets: number[]): void => {
      clearTargets(nid);
      for (const [delta, target] of targets.entries()) insert('reference', { nid, delta, target });
    },
    addTarget: (nid: number, target: number) => run`INSERT INTO reference (nid, delta, target)
      SELECT ${nid}, coalesce(max(delta) + 1, 0), ${target} FROM reference WHERE nid = ${nid}`,
    removeTarget: (nid: number, target: number) => run`DELETE FROM reference WHERE nid = ${nid} AND target = ${target}`,
    /** Notes a resource that gets the groups of its datasets by cron. */
    awaitGroups: (nid: string) => run`INSERT OR IGNORE INTO setting (name, value) VALUES ('groups ' || ${nid}, ${nid})`,
    takeAwaitingGroups: () => column<string>`DELETE FROM setting WHERE name LIKE 'groups %' RETURNING value`,
    countOfType: (type: string) => count`SELECT count(*) FROM node WHERE type = ${type}`,
    count: () => count`SELECT count(*) FROM node`,
    countDatasets: () => count`SELECT count(*) FROM node WHERE type = 'dataset' AND status = 1`,
    /** The nids of published datasets: sticky ones first, then the newest. */
    newest: (limit: number, offset: number) =>
      // The plus keeps SQLite from sorting all datasets: the index that has the wanted order is read until the page is full.
      column<number>(
        `SELECT n.nid FROM node n WHERE +n.type = 'dataset' AND n.status = 1 ORDER BY ${newest} LIMIT ? OFFSET ?`,
        ...[limit, offset],
      ),
    /** What a search for datasets looks at: all that are published, in the same order. */
    words: () => rows<{ nid: number; title: string; words: string }>(selectWords),
    /** Datasets as lists show them, in the order of their nids. */
    datasets: (nids: readonly number[]) => rows<DatasetRow>(selectDatasets, JSON.stringify(nids)),
    /** The nodes a node refers to, in order, `limit` at most. */
    linked: (nid: number, limit: number) => rows<LinkedRow>(selectLinked, nid, limit),
    /** Runs a list query; `sql` is made of column names of {@link nodeColumns} only, values are bound. */
    list: (sql: string, values: SQLInputValue[]): Record<string, unknown>[] => db.prepare(sql).all(...values),
  };
};

export interface StoredFile {
  fid: number;
  uid: number;
  /** The name as it was uploaded. */
  filename: string;
  /** The unique public name: `public://NAME`, `/sites/default/files/NAME`. */
  name: string;
  filemime: string;
  filesize: number;
  timestamp: number;
  /** Media class as recorded: `undefined`, `document`, `image`, `text`, `audio`, `video`. */
  type: string;
  /** Also the name of the bytes on disk. */
  uuid: string;
  sha256: string;
}

/** Opens the file table, and who uses each file. What changes something is to be called inside a write. */
export const openFiles = (db: DatabaseSync) => {
  const { row, rows, column, value, insert, run } = statementsOf(db);
  /** The files of a node, lowest fid first. */
  const ofNode = (nid: number) =>
    rows<StoredFile>`SELECT f.* FROM file_usage u JOIN file f ON f.fid = u.fid WHERE u.nid = ${nid} ORDER BY u.fid`;
  return {
    ofNode,
    byFid: (fid: number) => row<StoredFile>`SELECT * FROM file WHERE fid = ${fid}`,
    byName: (name: string) => row<StoredFile>`SELECT * FROM file WHERE name = ${name}`,
    /** The uuids of all files, that is the names that belong on disk. */
    uuids: () => column<string>`SELECT uuid FROM file`,
    nodesOf: (fid: number) => column<number>`SELECT nid FROM file_usage WHERE fid = ${fid} ORDER BY nid`,
    add: (file: Omit<StoredFile, 'fid'>): number => insert('file', file),
    /** Makes exactly `fids` the files of a node and returns the files no longer in use (their rows are gone). */
    assign: (nid: number, fids: number[]): StoredFile[] => {
      const before = ofNode(nid);
      run`DELETE FROM file_usage WHERE nid = ${nid}`;
      for (const fid of fids) run`INSERT OR IGNORE INTO file_usage (fid, nid) VALUES (${fid}, ${nid})`;
      const isUsed = (fid: number) => value<number>`SELECT 1 FROM file_usage WHERE fid = ${fid} LIMIT 1` !== null;
      const dropped = before.filter(({ fid }) => !fids.includes(fid) && !isUsed(fid));
      for (const { fid } of dropped) run`DELETE FROM file WHERE fid = ${fid}`;
      return dropped;
    },
  };
};
