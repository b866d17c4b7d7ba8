// Nodes, their revisions, and the references between them.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { FreeNumbers } from './free-numbers.ts';

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
  type: string;
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

/** What a new node is made of. */
export type NewNode = Omit<StoredNode, 'nid' | 'vid' | 'tnid' | 'translate'>;

const toNode = (row: Record<string, unknown>): StoredNode => {
  const { fields, ...rest } = row;
  return { ...rest, fields: JSON.parse(String(fields)) } as unknown as StoredNode; // the columns of the SELECT below
};

const selectNode = `SELECT n.nid, n.vid, n.type, n.language, n.title, n.uid, n.status, n.created, n.changed, n.comment, n.promote,
  n.sticky, n.tnid, n.translate, n.uuid, n.alias, r.vuuid, r.log, r.timestamp AS revisionTimestamp, r.uid AS revisionUid, r.fields
  FROM node n JOIN revision r ON r.vid = n.vid`;

/** Most text of nodes that is held in memory, in characters: reads and writes ask for the same few again and again. */
const mostKnown = 16_000_000;

/** The node, revision and reference tables. Methods that change something are to be called inside a write. */
export class Nodes {
  readonly #db: DatabaseSync;
  readonly #byNid: StatementSync;
  readonly #byUuid: StatementSync;
  readonly #byTitle: StatementSync;
  readonly #aliasTaken: StatementSync;
  readonly #insertRevision: StatementSync;
  readonly #insertNode: StatementSync;
  readonly #linkRevision: StatementSync;
  readonly #updateNode: StatementSync;
  readonly #updateRevision: StatementSync;
  readonly #touchNode: StatementSync;
  readonly #touchRevision: StatementSync;
  readonly #setAlias: StatementSync;
  readonly #deleteNode: StatementSync;
  readonly #deleteRevisions: StatementSync;
  readonly #targets: StatementSync;
  readonly #sources: StatementSync;
  readonly #clearTargets: StatementSync;
  readonly #addTarget: StatementSync;
  readonly #appendTarget: StatementSync;
  readonly #removeTarget: StatementSync;
  readonly #count: StatementSync;
  readonly #hasType: StatementSync;
  readonly #lists = new Map<string, StatementSync>();
  readonly #known = new Map<number, StoredNode>();
  #knownLength = 0;

  /** How far the numbers of aliases go. */
  readonly aliasNumbers = new FreeNumbers();

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#byNid = db.prepare(`${selectNode} WHERE n.nid = ?`);
    this.#byUuid = db.prepare('SELECT nid, type FROM node WHERE uuid = ? ORDER BY nid');
    this.#byTitle = db.prepare('SELECT nid FROM node WHERE type = ? AND title = ? ORDER BY nid LIMIT 20');
    this.#aliasTaken = db.prepare('SELECT nid FROM node WHERE alias = ?');
    this.#insertRevision = db.prepare(
      'INSERT INTO revision (nid, uid, title, log, timestamp, status, vuuid, fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.#insertNode = db.prepare(
      `INSERT INTO node (vid, type, language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias)
       VALUES (0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#linkRevision = db.prepare('UPDATE node SET vid = ? WHERE nid = ?');
    this.#updateNode = db.prepare(
      `UPDATE node SET vid = ?, language = ?, title = ?, uid = ?, status = ?, created = ?, changed = ?, comment = ?, promote = ?,
       sticky = ?, uuid = ?, alias = ? WHERE nid = ?`,
    );
    this.#updateRevision = db.prepare(
      'UPDATE revision SET uid = ?, title = ?, log = ?, timestamp = ?, status = ?, fields = ? WHERE vid = ?',
    );
    this.#touchNode = db.prepare('UPDATE node SET changed = ? WHERE nid = ?');
    this.#touchRevision = db.prepare(
      'UPDATE revision SET timestamp = ?, uid = ? WHERE vid = (SELECT vid FROM node WHERE nid = ?)',
    );
    this.#setAlias = db.prepare('UPDATE node SET alias = ? WHERE nid = ?');
    this.#deleteNode = db.prepare('DELETE FROM node WHERE nid = ?');
    this.#deleteRevisions = db.prepare('DELETE FROM revision WHERE nid = ?');
    this.#targets = db.prepare('SELECT target FROM reference WHERE nid = ? ORDER BY delta');
    this.#sources = db.prepare('SELECT DISTINCT nid FROM reference WHERE target = ? ORDER BY nid');
    this.#clearTargets = db.prepare('DELETE FROM reference WHERE nid = ?');
    this.#addTarget = db.prepare('INSERT INTO reference (nid, delta, target) VALUES (?, ?, ?)');
    this.#appendTarget = db.prepare(
      'INSERT INTO reference (nid, delta, target) SELECT ?1, coalesce(max(delta) + 1, 0), ?2 FROM reference WHERE nid = ?1',
    );
    this.#hasType = db.prepare('SELECT 1 FROM node WHERE type = ? LIMIT 1');
    this.#count = db.prepare('SELECT count(*) AS n FROM node');
    this.#removeTarget = db.prepare('DELETE FROM reference WHERE nid = ? AND target = ?');
  }

  /** The node with that nid, or null; shared by all who ask, so nobody may change it. */
  byNid(nid: number): StoredNode | null {
    const known = this.#known.get(nid);
    if (known !== undefined) return known;
    const row = this.#byNid.get(nid);
    if (row === undefined) return null;
    const node = toNode(row);
    const length = String(row.fields).length + 1000;
    if (this.#knownLength + length > mostKnown) this.forget();
    this.#knownLength += length;
    this.#known.set(nid, node);
    return node;
  }

  /** Forgets the nodes held in memory; to be called when writes were undone. */
  forget(): void {
    this.#known.clear();
    this.#knownLength = 0;
  }

  /** The first node with that uuid, or null. */
  byUuid(uuid: string): { nid: number; type: string } | null {
    const row = this.#byUuid.get(uuid);
    return row === undefined ? null : { nid: Number(row.nid), type: String(row.type) };
  }

  /** The nids of a type with exactly that title, whatever its case; twenty at most. */
  byTitle(type: string, title: string): number[] {
    return this.#byTitle.all(type, title).map((row) => Number(row.nid));
  }

  /** The nid that has that alias, or null. */
  aliasOwner(alias: string): number | null {
    const row = this.#aliasTaken.get(alias);
    return row === undefined ? null : Number(row.nid);
  }

  /** Adds a node with its first revision; returns its ids. */
  insert(node: NewNode): { nid: number; vid: number } {
    const { type, language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias } = node;
    const nid = Number(
      this.#insertNode.run(type, language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias)
        .lastInsertRowid,
    );
    const vid = this.#addRevision({ ...node, nid });
    this.#linkRevision.run(vid, nid);
    return { nid, vid };
  }

  /** Writes a changed node: as a new revision, or over the current one (`newRevision` false). Returns the vid. */
  update(node: StoredNode, { newRevision }: { newRevision: boolean }): number {
    this.#known.delete(node.nid);
    let { vid } = node;
    if (newRevision) vid = this.#addRevision(node);
    else {
      const { revisionUid, title, log, revisionTimestamp, status, fields } = node;
      this.#updateRevision.run(revisionUid, title, log, revisionTimestamp, status, JSON.stringify(fields), vid);
    }
    const { language, title, uid, status, created, changed, comment, promote, sticky, uuid, alias, nid } = node;
    this.#updateNode.run(
      vid,
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
      nid,
    );
    return vid;
  }

  /** Moves "changed" without a new revision, as attaching a file and a reference written from the other side do. */
  touch(nid: number, { at, uid }: { at: number; uid: number }): void {
    this.#known.delete(nid);
    this.#touchNode.run(at, nid);
    this.#touchRevision.run(at, uid, nid);
  }

  /** Gives a node its public path. */
  setAlias(nid: number, alias: string | null): void {
    this.#known.delete(nid);
    this.#setAlias.run(alias, nid);
  }

  /** Removes a node with its revisions and the references it holds. */
  remove(nid: number): void {
    this.#known.delete(nid);
    this.#clearTargets.run(nid);
    this.#deleteRevisions.run(nid);
    this.#deleteNode.run(nid);
  }

  /** The nids a node refers to, in order. */
  targets(nid: number): number[] {
    return this.#targets.all(nid).map((row) => Number(row.target));
  }

  /** The nodes that refer to a nid. */
  sources(nid: number): number[] {
    return this.#sources.all(nid).map((row) => Number(row.nid));
  }

  /** Replaces what a node refers to. */
  setTargets(nid: number, targets: number[]): void {
    this.#clearTargets.run(nid);
    for (const [delta, target] of targets.entries()) this.#addTarget.run(nid, delta, target);
  }

  /** Adds one reference at the end. */
  addTarget(nid: number, target: number): void {
    this.#appendTarget.run(nid, target);
  }

  /** Removes every reference of a node to a target. */
  removeTarget(nid: number, target: number): void {
    this.#removeTarget.run(nid, target);
  }

  /** True where there is a node of that type. */
  hasType(type: string): boolean {
    return this.#hasType.get(type) !== undefined;
  }

  /** How many nodes there are. */
  count(): number {
    return Number(this.#count.get()?.n ?? 0);
  }

  /** Runs a list query; `sql` is made of column names of {@link nodeColumns} only, values are bound. */
  list(sql: string, values: SQLInputValue[]): Record<string, unknown>[] {
    let statement = this.#lists.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      if (this.#lists.size > 200) this.#lists.clear();
      this.#lists.set(sql, statement);
    }
    return statement.all(...values);
  }

  #addRevision(node: Omit<NewNode, 'alias'> & { nid: number }): number {
    const { nid, revisionUid, title, log, revisionTimestamp, status, vuuid, fields } = node;
    return Number(
      this.#insertRevision.run(nid, revisionUid, title, log, revisionTimestamp, status, vuuid, JSON.stringify(fields))
        .lastInsertRowid,
    );
  }
}
