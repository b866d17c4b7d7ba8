// Who uses the server of a folder, and who of them looks after it.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LockFile } from './lock-file.ts';

/**
 * One process's place among those who use a server. Two locks decide, both given back by the kernel when their holder
 * dies: `users.lock` is shared by all who use the server, `owner.lock` belongs to the one who looks after it.
 */
export class Membership {
  readonly #users: LockFile;
  readonly #owner: LockFile;
  #owns = false;

  /** Opens the locks of a folder, which must exist; holds none yet. */
  constructor(folder: string) {
    this.#users = new LockFile(join(folder, 'users.lock'));
    this.#owner = new LockFile(join(folder, 'owner.lock'));
  }

  /** True while this process is the owner. */
  get owns(): boolean {
    return this.#owns;
  }

  /** Becomes one of the users; waits while the last former user is stopping the server. False when that takes too long. */
  async join(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (!this.#users.tryShared()) {
      if (performance.now() > deadline) return false;
      await pause(20);
    }
    return true;
  }

  /** Becomes the owner if there is none; true when this process is the owner afterwards. */
  tryOwn(): boolean {
    this.#owns ||= this.#owner.tryExclusive();
    return this.#owns;
  }

  /**
   * Stops being a user. True when nobody else is one: this process is the owner then, and nobody can join before
   * {@link close}. Asks several times, because two who leave at the same moment can hide each other from both.
   */
  async leave(): Promise<boolean> {
    this.#users.release();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (this.#users.tryExclusive()) return await this.#inherit();
      await pause(5 + Math.random() * 20);
    }
    return false;
  }

  /** Gives everything back; may be called again. */
  close(): void {
    this.#owns = false;
    this.#users.close();
    this.#owner.close();
  }

  /** Only one who is leaving too can still be the owner, and he gives that back when he finds a user left. */
  async #inherit(): Promise<boolean> {
    for (let wait = 0; !this.tryOwn() && wait < 100; wait += 1) await pause(10);
    return this.#owns;
  }
}
