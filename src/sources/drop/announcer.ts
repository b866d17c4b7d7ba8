// Tells of claims in batches: files that settled together are one call.
import type { Log } from '../../model/log.ts';
import type { Claim } from './claim.ts';

/** Collects claims and hands them over once their batch is whole; what failed is handed over again by the next retry. */
export class Announcer {
  readonly #tell: (claims: Claim[]) => Promise<void>;
  readonly #log: Log;
  readonly #told = new Set<string>();
  readonly #failed = new Map<string, Claim>();
  #pending = new Map<string, Claim>();
  #first = Number.POSITIVE_INFINITY;
  #telling: Promise<void> | null = null;

  constructor(tell: (claims: Claim[]) => Promise<void>, log: Log) {
    this.#tell = tell;
    this.#log = log;
  }

  /** When the first file of the present batch was last seen to move (Unix ms); null while there is none. */
  get first(): number | null {
    return this.#pending.size === 0 ? null : this.#first;
  }

  /** Adds a claim to the present batch unless it was announced before. */
  add(claim: Claim, movedAt: number): void {
    if (this.#told.has(claim.id) || this.#pending.has(claim.id)) return;
    if (this.#pending.size === 0) this.#first = movedAt;
    this.#first = Math.min(this.#first, movedAt);
    this.#pending.set(claim.id, claim);
  }

  /** Puts what could not be announced into the present batch again, and forgets claims that are not in the spool any more. */
  retry(spooled: Claim[], now: number): void {
    const present = new Set(spooled.map((claim) => claim.id));
    for (const id of this.#told) if (!present.has(id)) this.#told.delete(id);
    for (const [id, claim] of this.#failed) if (present.has(id)) this.add(claim, now);
    this.#failed.clear();
  }

  /** Closes the present batch and announces it; one call at a time, `done` runs after it. */
  flush(done: () => void): void {
    if (this.#pending.size === 0 || this.#telling !== null) return;
    const batch = [...this.#pending.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#pending = new Map();
    this.#telling = this.#tellOf(batch).finally(() => {
      this.#telling = null;
      done();
    });
  }

  async #tellOf(batch: Claim[]): Promise<void> {
    try {
      await this.#tell(batch);
      for (const claim of batch) this.#told.add(claim.id);
    } catch (error) {
      for (const claim of batch) this.#failed.set(claim.id, claim);
      this.#log.warn(
        { err: error, claims: batch.length },
        'could not hand over claims; tried again by the next rescan',
      );
    }
  }

  /** Resolves when no call is under way. */
  async idle(): Promise<void> {
    await this.#telling;
  }
}
