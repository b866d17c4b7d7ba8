// How long a portal has owed every reply that is waited for.

export class Silence {
  readonly #grants = new Set<{ ms: number }>();
  #since = 0;

  /** Milliseconds since it last gave a sign of life; null while it owes nothing. `grantedMs`: what an upload or import may take. */
  get state(): { ms: number; grantedMs: number } | null {
    if (this.#grants.size === 0) return null;
    const grantedMs = Math.max(...[...this.#grants].map(({ ms }) => ms));
    return { ms: Math.round(performance.now() - this.#since), grantedMs };
  }

  /** It has answered something, or taken a part of an upload. */
  heard(): void {
    this.#since = performance.now();
  }

  async until<T>(reply: Promise<T>, grantedMs = 0): Promise<T> {
    const grant = { ms: grantedMs };
    if (this.#grants.size === 0) this.heard();
    this.#grants.add(grant);
    try {
      const heard = await reply;
      this.heard();
      return heard;
    } finally {
      this.#grants.delete(grant);
    }
  }
}
