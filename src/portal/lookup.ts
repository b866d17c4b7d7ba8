// Finding nodes by uuid: calls made within a few milliseconds are answered by one list request.
import { maxPageSize } from '../dkan/paths.ts';
import type { ListQuery } from './nodes.ts';
import type { NodeRow } from './replies.ts';
import { abortable } from './wait.ts';

/** How long the first call of a batch waits for company. */
const gatherMs = 1;

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

  constructor(list: List, shared: AbortSignal) {
    this.list = list;
    this.shared = shared;
  }

  /** The row of the node with that uuid, the one with the lowest nid where there are several; null when none is listed. */
  async find(uuid: string, signal: AbortSignal): Promise<NodeRow | null> {
    signal.throwIfAborted();
    const key = uuid.toLowerCase();
    this.open ??= this.begin();
    const batch = this.open;
    batch.uuids.add(key);
    if (batch.uuids.size === maxPageSize) batch.go();
    return (await abortable(batch.rows, signal)).get(key) ?? null;
  }

  private begin(): Batch {
    const uuids = new Set<string>();
    const gathered = Promise.withResolvers<void>();
    const rows = gathered.promise.then(() => this.request([...uuids]));
    const timer = setTimeout(() => batch.go(), gatherMs);
    const batch: Batch = {
      uuids,
      rows,
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
    for (const row of rows) {
      const key = row.uuid.toLowerCase();
      const known = byUuid.get(key);
      if (known === undefined || Number(row.nid) < Number(known.nid)) byUuid.set(key, row);
    }
    return byUuid;
  }
}
