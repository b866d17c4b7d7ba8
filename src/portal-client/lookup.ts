// Finding nodes by uuid: calls made within a few milliseconds are answered by one list request.

import { maxPageSize } from '../dataset-api/paths.ts';
import { abortable } from '../util/abortable.ts';
import type { ListQuery } from './nodes.ts';
import type { NodeRow } from './replies.ts';

/** How long the first call of a batch waits for company. */
const gatherMs = 5;

/** How long an answer that was asked for beforehand may be used. */
const recentMs = 10_000;

type List = (query: ListQuery, signal: AbortSignal) => Promise<NodeRow[]>;

interface Batch {
  uuids: Set<string>;
  rows: Promise<Map<string, NodeRow>>;
  /** Sends the request now. */
  go: () => void;
}

/** Batches look-ups by uuid, up to 20 (a page) in one request. */
export class UuidLookup {
  private readonly list: List;
  /** The signal batches run under: they belong to no single caller. */
  private readonly shared: AbortSignal;
  private open: Batch | null = null;
  /** What was asked for beforehand, by uuid, in the order in which it stops to hold. */
  private readonly early = new Map<string, { rows: Batch['rows']; until: number }>();

  constructor(list: List, shared: AbortSignal) {
    this.list = list;
    this.shared = shared;
  }

  /** Asks beforehand for uuids that are looked for soon, unless that was done a moment ago. */
  expect(uuids: readonly string[]): void {
    const now = performance.now();
    for (const [uuid, { until }] of this.early) {
      if (until > now) break;
      this.early.delete(uuid);
    }
    const fresh = [...new Set(uuids.map((uuid) => uuid.toLowerCase()))].filter((uuid) => !this.early.has(uuid));
    for (let at = 0; at < fresh.length; at += maxPageSize) {
      const page = fresh.slice(at, at + maxPageSize);
      const rows = this.request(page);
      rows.catch(() => undefined); // made again by whoever looks for one of them
      for (const uuid of page) this.early.set(uuid, { rows, until: now + recentMs });
    }
  }

  /**
   * The row of the node with that uuid, the one with the lowest nid where there are several; null when none is listed.
   * `recent`: takes an answer that was asked for beforehand; once, then it is forgotten.
   */
  async find(uuid: string, signal: AbortSignal, { recent = false } = {}): Promise<NodeRow | null> {
    signal.throwIfAborted();
    const key = uuid.toLowerCase();
    const early = this.early.get(key);
    this.early.delete(key);
    if (recent && early && performance.now() < early.until) {
      const rows = await abortable(early.rows, signal).catch(() => null);
      if (rows) return rows.get(key) ?? null;
      signal.throwIfAborted();
    }
    this.open ??= this.begin();
    const batch = this.open;
    batch.uuids.add(key);
    if (batch.uuids.size === maxPageSize) batch.go();
    return (await abortable(batch.rows, signal)).get(key) ?? null;
  }

  private begin(): Batch {
    const uuids = new Set<string>();
    const gathered = Promise.withResolvers<void>();
    const timer = setTimeout(() => batch.go(), gatherMs);
    const batch: Batch = {
      uuids,
      rows: gathered.promise.then(() => this.request([...uuids])),
      go: () => {
        clearTimeout(timer);
        if (this.open === batch) this.open = null;
        gathered.resolve();
      },
    };
    return batch;
  }

  private async request(uuids: string[]): Promise<Map<string, NodeRow>> {
    const fields = ['nid', 'vid', 'uuid', 'type', 'title', 'status', 'uid', 'changed'];
    const rows = await this.list({ fields, parameters: { uuid: uuids } }, this.shared);
    const byUuid = new Map<string, NodeRow>();
    let twins = 0;
    for (const row of rows) {
      const key = row.uuid.toLowerCase();
      const known = byUuid.get(key);
      if (known !== undefined && uuids.includes(key)) twins += 1;
      if (known === undefined || Number(row.nid) < Number(known.nid)) byUuid.set(key, row);
    }
    // Nodes that share a uuid may have pushed others off the page.
    if (twins === 0 || rows.length < maxPageSize || uuids.length === 1) return byUuid;
    const middle = Math.ceil(uuids.length / 2);
    return new Map([...(await this.request(uuids.slice(0, middle))), ...(await this.request(uuids.slice(middle)))]);
  }
}
