// Nodes, their revisions, the references between them, and what pages list of them.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { insertInto, prepareAll, type Statements, valuesOf } from './statements.ts';

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

/** A column of the node table. */
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

const toNode = (row: Record<string, unknown>): StoredNode => {
  const { fields, ...rest } = row;
  return { ...rest, fields: JSON.parse(String(fields)) } as unknown as StoredNode; // the columns of the SELECT below
};

/** A node at a revision, its current one where `r` is joined by the node's vid. */
const selectNode = `SELECT n.nid, r.vid, n.type, n.language, r.title, n.uid, r.status, n.created, n.changed, n.comment, n.promote,
  n.sticky, n.tnid, n.translate, n.uuid, n.alias, r.vuuid, r.log, r.timestamp AS revisionTimestamp, r.uid AS revisionUid, r.fields
  FROM node n JOIN revision r`;

const updated = 'vid language title uid status created changed comment promote sticky uuid alias'.split(' ');

const revised = 'uid title log timestamp status fields'.split(' ');

const added = ['type', ...updated];

const addedRevision = ['nid', 'vuuid', ...revised];

const assigned = (columns: readonly string[]): string => columns.map((name) => `${name} = ?`).join(', ');

const described = `substr(coalesce(nullif(json_extract(r.fields, '$.body[0].safe_summary'), ''),
    json_extract(r.fields, '$.body[0].safe_value')), 1, 1500) AS html,
  substr(coalesce(nullif(json_extract(r.fields, '$.body[0].summary'), ''),
    json_extract(r.fields, '$.body[0].value')), 1, 1500) AS plain`;

const newest = 'sticky DESC, created DESC, nid DESC';

const statements = {
  byNid: `${selectNode} ON r.vid = n.vid WHERE n.nid = ?`,
  atRevision: `${selectNode} ON r.nid = n.nid WHERE r.vid = ?`,
  byUuid: 'SELECT nid, type FROM node WHERE uuid = ? ORDER BY nid',
  byTitle: 'SELECT nid FROM node WHERE type = ? AND title = ? ORDER BY nid LIMIT 20',
  aliasOwner: 'SELECT nid FROM node WHERE alias = ?',
  insertRevision: insertInto('revision', addedRevision),
  insertNode: insertInto('node', added),
  lastVid: "SELECT seq FROM sqlite_sequence WHERE name = 'revision'",
  updateNode: `UPDATE node SET ${assigned(updated)} WHERE nid = ?`,
  updateRevision: `UPDATE revision SET ${assigned(revised)} WHERE vid = ?`,
  touchNode: 'UPDATE node SET changed = ? WHERE nid = ?',
  touchRevision: 'UPDATE revision SET timestamp = ?, uid = ? WHERE vid = (SELECT vid FROM node WHERE nid = ?)',
  setAlias: 'UPDATE node SET alias = ? WHERE nid = ?',
  deleteNode: 'DELETE FROM node WHERE nid = ?',
  deleteRevisions: 'DELETE FROM revision WHERE nid = ?',
  targets: 'SELECT target FROM reference WHERE nid = ? ORDER BY delta',
  sources: 'SELECT DISTINCT nid FROM reference WHERE target = ? ORDER BY nid',
  clearTargets: 'DELETE FROM reference WHERE nid = ?',
  addTarget: 'INSERT INTO reference (nid, delta, target) VALUES (?, ?, ?)',
  appendTarget:
    'INSERT INTO reference (nid, delta, target) SELECT ?1, coalesce(max(delta) + 1, 0), ?2 FROM reference WHERE nid = ?1',
  removeTarget: 'DELETE FROM reference WHERE nid = ? AND target = ?',
  awaitGroups: "INSERT OR IGNORE INTO setting (name, value) VALUES ('groups ' || ?1, ?1)",
  awaitingGroups: "DELETE FROM setting WHERE name LIKE 'groups %' RETURNING value",
  hasType: 'SELECT 1 FROM node WHERE type = ? LIMIT 1',
  count: 'SELECT count(*) AS n FROM node',
  countDatasets: "SELECT count(*) AS n FROM node WHERE type = 'dataset' AND status = 1",
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
};

/** What a revision holds of a node. */
const revisionOf = ({ revisionUid, revisionTimestamp, title, log, status, vuuid, fields }: NewNode) => {
  return { uid: revisionUid, timestamp: revisionTimestamp, title, log, status, vuuid, fields: JSON.stringify(fields) };
};

/** What the node table holds of a node. */
const rowOf = ({ fields: _, ...row }: NewNode) => row;

/** The node, revision and reference tables. Methods that change something are to be called inside a write. */
export class Nodes {
  readonly #db: DatabaseSync;
  readonly #sql: Statements<typeof statements>;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = prepareAll(db, statements);
  }

  /** The node with that nid, or null. */
  byNid(nid: number): StoredNode | null {
    const row = this.#sql.byNid.get(nid);
    return row === undefined ? null : toNode(row);
  }

  /** A node as that revision has it; its references, files and alias are the present ones. */
  atRevision(vid: number): StoredNode | null {
    const row = this.#sql.atRevision.get(vid);
    return row === undefined ? null : toNode(row);
  }

  /** The first node with that uuid, or null. */
  byUuid(uuid: string): { nid: number; type: string } | null {
    const row = this.#sql.byUuid.get(uuid);
    return row === undefined ? null : { nid: Number(row.nid), type: String(row.type) };
  }

  /** The nids of a type with exactly that title, whatever its case; twenty at most. */
  byTitle(type: string, title: string): number[] {
    return this.#sql.byTitle.all(type, title).map((row) => Number(row.nid));
  }

  /** The nid that has that alias, or null. */
  aliasOwner(alias: string): number | null {
    const row = this.#sql.aliasOwner.get(alias);
    return row === undefined ? null : Number(row.nid);
  }

  /** Adds a node with its first revision; returns its nid. */
  insert(node: NewNode): number {
    const vid = Number(this.#sql.lastVid.get()?.seq ?? 0) + 1;
    const nid = Number(this.#sql.insertNode.run(...valuesOf({ ...rowOf(node), vid }, added)).lastInsertRowid);
    this.#addRevision(nid, node);
    return nid;
  }

  /** Writes a changed node: as a new revision, or over the current one (`newRevision` false). */
  update(node: StoredNode, { newRevision }: { newRevision: boolean }): void {
    const vid = newRevision ? this.#addRevision(node.nid, node) : node.vid;
    if (!newRevision) this.#sql.updateRevision.run(...valuesOf(revisionOf(node), revised), vid);
    this.#sql.updateNode.run(...valuesOf({ ...rowOf(node), vid }, updated), node.nid);
  }

  /** Moves "changed" without a new revision, as attaching a file and a reference written from the other side do. */
  touch(nid: number, { at, uid }: { at: number; uid: number }): void {
    this.#sql.touchNode.run(at, nid);
    this.#sql.touchRevision.run(at, uid, nid);
  }

  /** Gives a node its public path. */
  setAlias(nid: number, alias: string | null): void {
    this.#sql.setAlias.run(alias, nid);
  }

  /** Removes a node with its revisions and the references it holds. */
  remove(nid: number): void {
    this.#sql.clearTargets.run(nid);
    this.#sql.deleteRevisions.run(nid);
    this.#sql.deleteNode.run(nid);
  }

  /** The nids a node refers to, in order. */
  targets(nid: number): number[] {
    return this.#sql.targets.all(nid).map((row) => Number(row.target));
  }

  /** The nodes that refer to a nid. */
  sources(nid: number): number[] {
    return this.#sql.sources.all(nid).map((row) => Number(row.nid));
  }

  /** Replaces what a node refers to. */
  setTargets(nid: number, targets: number[]): void {
    this.#sql.clearTargets.run(nid);
    for (const [delta, target] of targets.entries()) this.#sql.addTarget.run(nid, delta, target);
  }

  /** Adds one reference at the end. */
  addTarget(nid: number, target: number): void {
    this.#sql.appendTarget.run(nid, target);
  }

  /** Removes every reference of a node to a target. */
  removeTarget(nid: number, target: number): void {
    this.#sql.removeTarget.run(nid, target);
  }

  /** Notes a resource that gets the groups of its datasets by cron. */
  awaitGroups(nid: number): void {
    this.#sql.awaitGroups.run(String(nid));
  }

  /** Takes the nids that {@link Nodes.awaitGroups} noted. */
  takeAwaitingGroups(): number[] {
    return this.#sql.awaitingGroups.all().map((row) => Number(row.value));
  }

  /** True where there is a node of that type. */
  hasType(type: string): boolean {
    return this.#sql.hasType.get(type) !== undefined;
  }

  /** How many nodes there are. */
  count(): number {
    return Number(this.#sql.count.get()?.n ?? 0);
  }

  /** How many published datasets there are. */
  countDatasets(): number {
    return Number(this.#sql.countDatasets.get()?.n ?? 0);
  }

  /** Published datasets: sticky ones first, then the newest. */
  datasets({ limit, offset }: { limit: number; offset: number }): DatasetRow[] {
    return this.#sql.datasets.all(limit, offset) as unknown as DatasetRow[]; // the columns of the SELECT
  }

  /** The nodes a node refers to, in order, `limit` at most. */
  linked(nid: number, limit: number): LinkedRow[] {
    return this.#sql.linked.all(nid, limit) as unknown as LinkedRow[]; // the columns of the SELECT
  }

  /** Runs a list query; `sql` is made of column names of {@link nodeColumns} only, values are bound. */
  list(sql: string, values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#db.prepare(sql).all(...values);
  }

  #addRevision(nid: number, node: NewNode): number {
    return Number(
      this.#sql.insertRevision.run(...valuesOf({ ...revisionOf(node), nid }, addedRevision)).lastInsertRowid,
    );
  }
}
