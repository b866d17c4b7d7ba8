// What stands in the inbox at this moment: which files settle, and what is left alone and why.
import type { BigIntStats } from 'node:fs';
import type { Log } from '../../model/log.ts';
import { isMarked, lookAt, type Sight, walkInbox } from './look.ts';
import type { Place, Placed } from './place.ts';
import { type Settling, stillOf } from './settling.ts';

/** What a view needs to know of its inbox. */
export interface InboxViewOptions {
  /** Real path of the inbox. */
  inbox: string;
  placed: (path: string) => Placed;
  /** Ending of marker files; `required`: no file is taken without one. */
  marker: { ending: string; required: boolean };
  settling: Settling;
  log: Log;
}

/** Looks at paths and keeps what it saw: files in `settling` (under their path), the rest in its list of what is left. */
export class InboxView {
  readonly #options: InboxViewOptions;
  #left = new Map<string, string>();

  constructor(options: InboxViewOptions) {
    this.#options = options;
  }

  /** What is left alone, with the reason, by path. */
  get left(): ReadonlyMap<string, string> {
    return this.#left;
  }

  /** Leaves a path alone until it is looked at again. */
  leave(path: string, reason: string): void {
    const { settling, log } = this.#options;
    settling.forget(path);
    if (this.#left.get(path) !== reason) log.warn({ path, reason }, 'left a file alone');
    this.#left.set(path, reason);
  }

  #forget(path: string): void {
    this.#options.settling.forget(path);
    this.#left.delete(path);
  }

  /** Looks at one path; `seenAt` is the time of the look, Unix ms. */
  async look(path: string, seenAt: number): Promise<void> {
    const placed = this.#options.placed(path);
    if (placed.kind === 'ignored') return this.#forget(path);
    const sight = await lookAt(this.#options.inbox, path);
    if (placed.kind === 'marker') return await this.#lookAtMarker(path, placed.of, sight, seenAt);
    if (sight.kind === 'left') return this.leave(path, sight.reason);
    if (sight.kind !== 'file' || placed.kind === 'sidecar') return this.#forget(path);
    if (placed.kind === 'left') return this.leave(path, placed.reason);
    await this.#see(path, placed.place, sight.stats, seenAt);
  }

  async #lookAtMarker(path: string, of: string, sight: Sight, seenAt: number): Promise<void> {
    await this.look(of, seenAt);
    const alone = !this.#options.settling.has(of) && !this.#left.has(of);
    if (sight.kind === 'left') this.leave(path, sight.reason);
    else if (sight.kind === 'file' && alone) this.leave(path, `is a marker without its file ${of}`);
    else this.#forget(path);
  }

  async #see(path: string, place: Place, stats: BigIntStats, since: number): Promise<void> {
    const { inbox, marker, settling } = this.#options;
    const state = (await isMarked(inbox, path, marker.ending)) ? 'now' : marker.required ? 'never' : 'none';
    settling.see(path, { path, place, still: stillOf(stats), since, marker: state, folder: null });
    this.#left.delete(path);
  }

  /** Looks at everything; what is not there any more is forgotten. Throws when the inbox itself cannot be read. */
  async scan(clock: () => number): Promise<void> {
    const seen = new Set<string>();
    for await (const { path, reason } of walkInbox(this.#options.inbox)) {
      seen.add(path);
      if (reason === null || this.#options.placed(path).kind === 'ignored') await this.look(path, clock());
      else this.leave(path, reason);
    }
    for (const path of this.#left.keys()) if (!seen.has(path)) this.#left.delete(path);
    for (const [id, { folder }] of this.#options.settling.entries()) {
      if (folder === null && !seen.has(id)) this.#options.settling.forget(id);
    }
  }
}
