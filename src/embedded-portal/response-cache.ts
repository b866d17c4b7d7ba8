// A cache of response bodies, valid until the store changes.

/** Most text that is kept, in characters. */
const most = 16_000_000;

/** Bodies by key; all are forgotten as soon as anything in the store changes. */
export class ResponseCache {
  readonly #changes: () => number;
  readonly #bodies = new Map<string, string>();
  #length = 0;
  #seen = -1;

  /** `changes` returns another number after every write to the store. */
  constructor(changes: () => number) {
    this.#changes = changes;
  }

  /** The body with that key, written by `write` where it is not known; `write` looks at nothing but the store and the key. */
  get(key: string, write: () => string): string {
    const changes = this.#changes();
    if (changes !== this.#seen) this.#forget();
    this.#seen = changes;
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    const body = write();
    if (body.length > most / 4) return body; // it would take the place of all others
    if (this.#length + body.length + key.length > most) this.#forget();
    this.#length += body.length + key.length;
    this.#bodies.set(key, body);
    return body;
  }

  #forget(): void {
    this.#bodies.clear();
    this.#length = 0;
  }
}
