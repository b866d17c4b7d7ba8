// Nodes, their revisions, the references between them, and what pages list of them.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { inserter, statementsOf, updater } from './statements.ts';

/** The node types of the service. */
export type NodeType = 'dataset' | 'resource' | 'group' | 'page';

/** Field items by field name, as a read shows them; a field without a value has no key. References and files excepted. */
export type FieldItems = Record<string, Record<string, unknown>[]>;

/** The columns of the node table, in the order in which lists show them (recorded behaviour 6). */
export const nodeColumns = [
  'nid',
  'vid',
  'type',
  'language',
  'title',
  'uid',
  'status',
  'created',
  'changed',
  'comment',
  'promote',
  'sticky',
  'tnid',
  'translate',
  'uuid',
] as const;

export type NodeColumn = (typeof nodeColumns)[number];

/** A node with its current revision. Times are Unix seconds. */
export interface StoredNode {
  nid: number;
  vid: number;
  type: NodeType;
  language: string;
  title: string;
  uid: number;
  status: number;
  created: number;
  changed: number;
  comment: number;
  promote: number;
  sticky: number;
  tnid: number;
  translate: number;
  uuid: string;
  /** Public path without the leading slash, such as `dataset/city-budget`, or null. */
  alias: string | null;
  vuuid: string;
  log: string;
  revisionTimestamp: number;
  revisionUid: number;
  fields: FieldItems;
}

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

/** What a new node is made of. */
type NewNode = Omit<StoredNode, 'nid' | 'vid' | 'tnid' | 'translate'>;

/** A node at a revision, its current one where `r` is joined by the node's vid. */
const selectNode = `SELECT n.nid, r.vid, n.type, n.language, r.title, n.uid, r.status, n.created, n.changed, n.comment, n.promote,
  n.sticky, n.tnid, n.translate, n.uuid, n.alias, r.vuuid, r.log, r.timestamp AS revisionTimestamp, r.uid AS revisionUid, r.fields
  FROM node n JOIN revision r`;

const toNode = (row: (Omit<StoredNode, 'fields'> & { fields: string }) | null): StoredNode | null =>
  row === null ? null : { ...row, fields: JSON.parse(row.fields) }; // as revisionOf() wrote it

const described = `substr(coalesce(nullif(json_extract(r.fields, '$.body[0].safe_summary'), ''),
    json_extract(r.fields, '$.body[0].safe_value')), 1, 1500) AS html,
  substr(coalesce(nullif(json_extract(r.fields, '$.body[0].summary'), ''),
    json_extract(r.fields, '$.body[0].value')), 1, 1500) AS plain`;

const newest = 'sticky DESC, created DESC, nid DESC';

// The plus keeps SQLite from sorting all datasets: the index that has the wanted order is read until the page is full.
const selectDatasets = `SELECT n.nid, n.title, n.alias, n.changed, ${described},
    (SELECT count(*) FROM reference l JOIN node t ON t.nid = l.target WHERE l.nid = n.nid AND t.status = 1) AS resources
  FROM (SELECT nid FROM node WHERE +type = 'dataset' AND status = 1 ORDER BY ${newest} LIMIT ? OFFSET ?) p
  JOIN node n ON n.nid = p.nid JOIN revision r ON r.vid = n.vid
  ORDER BY n.sticky DESC, n.created DESC, n.nid DESC`;

const selectLinked = `SELECT n.nid, n.type, n.title, n.alias, n.status, n.uid, f.filename, f.filesize, t.name AS format, ${described},
    coalesce(json_extract(r.fields, '$.field_link_remote_file[0].uri'), json_extract(r.fields, '$.field_link_api[0].url')) AS link
  FROM reference l JOIN node n ON n.nid = l.target JOIN revision r ON r.vid = n.vid
  LEFT JOIN file f ON f.fid = (SELECT min(u.fid) FROM file_usage u WHERE u.nid = n.nid)
  LEFT JOIN term t ON t.tid = CAST(json_extract(r.fields, '$.field_format[0].tid') AS INTEGER)
  WHERE l.nid = ? ORDER BY l.delta LIMIT ?`;

/** What a revision holds of a node. */
const revisionOf = ({ revisionUid, revisionTimestamp, title, log, status, vuuid, fields }: NewNode) => {
  return { uid: revisionUid, timestamp: revisionTimestamp, title, log, status, vuuid, fields: JSON.stringify(fields) };
};

type Revision = ReturnType<typeof revisionOf>;

/** What the node table holds of a node. */
const rowOf = ({
  type,
  language,
  title,
  uid,
  status,
  created,
  changed,
  comment,
  promote,
  sticky,
  uuid,
  alias,
}: NewNode) => {
  return { type, language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias };
};

type Row = ReturnType<typeof rowOf> & { vid: number };

const updated = 'vid language title uid status created changed comment promote sticky uuid alias'.split(
  ' ',
) as (keyof Row)[]; // as written
const revised = 'uid title log timestamp status fields'.split(' ') as (keyof Revision)[]; // as written

export type Nodes = ReturnType<typeof openNodes>;

/** Opens the node, revision and reference tables. What changes something is to be called inside a write. */
export const openNodes = (db: DatabaseSync) => {
  const { row, rows, column, value, count, change } = statementsOf(db);
  const byNid = row<Parameters<typeof toNode>[0] & object, [nid: number]>(
    `${selectNode} ON r.vid = n.vid WHERE n.nid = ?`,
  );
  const atRevision = row<Parameters<typeof toNode>[0] & object, [vid: number]>(
    `${selectNode} ON r.nid = n.nid WHERE r.vid = ?`,
  );
  const insertNode = inserter<Row>(db, 'node', ['type', ...updated]);
  const insertRevision = inserter<Revision & { nid: number }>(db, 'revision', ['nid', 'vuuid', ...revised]);
  const updateNode = updater<Row>(db, { table: 'node', id: 'nid', columns: updated });
  const updateRevision = updater<Revision>(db, { table: 'revision', id: 'vid', columns: revised });
  const lastVid = value<number>("SELECT seq FROM sqlite_sequence WHERE name = 'revision'");
  const touchNode = change<[at: number, nid: number]>('UPDATE node SET changed = ? WHERE nid = ?');
  const touchRevision = change<[at: number, uid: number, nid: number]>(
    'UPDATE revision SET timestamp = ?, uid = ? WHERE vid = (SELECT vid FROM node WHERE nid = ?)',
  );
  const deleteNode = change<[nid: number]>('DELETE FROM node WHERE nid = ?');
  const deleteRevisions = change<[nid: number]>('DELETE FROM revision WHERE nid = ?');
  const clearTargets = change<[nid: number]>('DELETE FROM reference WHERE nid = ?');
  const putTarget = change<[nid: number, delta: number, target: number]>(
    'INSERT INTO reference (nid, delta, target) VALUES (?, ?, ?)',
  );
  return {
    byNid: (nid: number): StoredNode | null => toNode(byNid(nid)),
    /** A node as that revision has it; its references, files and alias are the present ones. */
    atRevision: (vid: number): StoredNode | null => toNode(atRevision(vid)),
    /** The first node with that uuid. */
    byUuid: row<{ nid: number; type: string }, [uuid: string]>(
      'SELECT nid, type FROM node WHERE uuid = ? ORDER BY nid LIMIT 1',
    ),
    /** The nids of a type with exactly that title, whatever its case; twenty at most. */
    byTitle: column<number, [type: string, title: string]>(
      'SELECT nid FROM node WHERE type = ? AND title = ? ORDER BY nid LIMIT 20',
    ),
    /** The nid that has that alias. */
    aliasOwner: value<number, [alias: string]>('SELECT nid FROM node WHERE alias = ?'),
    /** Adds a node with its first revision; returns its nid. */
    insert: (node: NewNode): number => {
      const nid = insertNode({ ...rowOf(node), vid: (lastVid() ?? 0) + 1 });
      insertRevision({ ...revisionOf(node), nid });
      return nid;
    },
    /** Writes a changed node: as a new revision, or over the current one (`newRevision` false). */
    update: (node: StoredNode, { newRevision }: { newRevision: boolean }): void => {
      const vid = newRevision ? insertRevision({ ...revisionOf(node), nid: node.nid }) : node.vid;
      if (!newRevision) updateRevision(vid, revisionOf(node));
      updateNode(node.nid, { ...rowOf(node), vid });
    },
    /** Moves "changed" without a new revision, as attaching a file and a reference written from the other side do. */
    touch: (nid: number, { at, uid }: { at: number; uid: number }): void => {
      touchNode(at, nid);
      touchRevision(at, uid, nid);
    },
    setAlias: change<[alias: string | null, nid: number]>('UPDATE node SET alias = ? WHERE nid = ?'),
    /** Removes a node with its revisions and the references it holds. */
    remove: (nid: number): void => {
      clearTargets(nid);
      deleteRevisions(nid);
      deleteNode(nid);
    },
    /** The nids a node refers to, in order. */
    targets: column<number, [nid: number]>('SELECT target FROM reference WHERE nid = ? ORDER BY delta'),
    /** The nodes that refer to a nid. */
    sources: column<number, [target: number]>('SELECT DISTINCT nid FROM reference WHERE target = ? ORDER BY nid'),
    /** Replaces what a node refers to. */
    setTargets: (nid: number, targets: number[]): void => {
      clearTargets(nid);
      for (const [delta, target] of targets.entries()) putTarget(nid, delta, target);
    },
    /** Adds one reference at the end. */
    addTarget: change<[nid: number, target: number]>(
      'INSERT INTO reference (nid, delta, target) SELECT ?1, coalesce(max(delta) + 1, 0), ?2 FROM reference WHERE nid = ?1',
    ),
    /** Removes every reference of a node to a target. */
    removeTarget: change<[nid: number, target: number]>('DELETE FROM reference WHERE nid = ? AND target = ?'),
    /** Notes a resource that gets the groups of its datasets by cron. */
    awaitGroups: change<[nid: string]>("INSERT OR IGNORE INTO setting (name, value) VALUES ('groups ' || ?1, ?1)"),
    /** Takes the nids that `awaitGroups` noted. */
    takeAwaitingGroups: column<string>("DELETE FROM setting WHERE name LIKE 'groups %' RETURNING value"),
    countOfType: count<[type: string]>('SELECT count(*) FROM node WHERE type = ?'),
    count: count('SELECT count(*) FROM node'),
    /** How many published datasets there are. */
    countDatasets: count("SELECT count(*) FROM node WHERE type = 'dataset' AND status = 1"),
    /** Published datasets: sticky ones first, then the newest. */
    datasets: rows<DatasetRow, [limit: number, offset: number]>(selectDatasets),
    /** The nodes a node refers to, in order, `limit` at most. */
    linked: rows<LinkedRow, [nid: number, limit: number]>(selectLinked),
    /** Runs a list query; `sql` is made of column names of {@link nodeColumns} only, values are bound. */
    list: (sql: string, values: SQLInputValue[]): Record<string, unknown>[] => db.prepare(sql).all(...values),
  };
};
