// The rows of a table by hashes of what tells them apart, in 15 bytes a row, however long they are.

/** Slots for each row: fewer cost memory, more cost time. */
const slotsEach = 1.25;

/** What a slot holds: the hash that is kept, the content, and the number of the row from 1, below 0 once it is matched. */
const [print, content, number, fields] = [0, 1, 2, 3];

/**
 * Rows by two hashes, of which one says where a row is looked for and the other one is kept: the chance of two different
 * rows that seem to be the same is about 1 in 10^9 for each row.
 */
export class RowSet {
  readonly #slots: Int32Array;
  #left: number;
  #touched = 0;

  /** `rows`: the most that it takes. */
  constructor(rows: number) {
    this.#left = rows;
    this.#slots = new Int32Array((Math.ceil(rows * slotsEach) + 8) * fields);
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Reads where rows with these hashes, one of so many numbers each, are looked for: memory is then waited for once. */
  touch(hashes: Int32Array, count: number, each: number): void {
    for (let at = 0; at < count * each; at += each) this.#touched ^= this.#slots[this.#begin(hashes[at] ?? 0)] ?? 0;
  }

  #begin(place: number): number {
    return Math.floor((place >>> 0) * (this.#slots.length / fields / 0x1_0000_0000)) * fields;
  }

  /** The slot of a row, or the one that it can have, as a number below 0. */
  find(place: number, kept: number): number {
    const slots = this.#slots;
    let slot = this.#begin(place);
    for (;;) {
      if (slots[slot + number] === 0) return ~slot;
      if (slots[slot + print] === kept) return slot;
      slot += fields;
      if (slot === slots.length) slot = 0;
    }
  }

  put(slot: number, kept: number, rest: number, row: number): void {
    this.#left -= 1;
    this.#slots[slot + print] = kept;
    this.#slots[slot + content] = rest;
    this.#slots[slot + number] = row + 1;
  }

  /** Of a row: a hash of what does not tell it apart, or how many such rows there are. */
  contentOf(slot: number): number {
    return this.#slots[slot + content] ?? 0;
  }

  count(slot: number, by: 1 | -1): void {
    this.#slots[slot + content] = this.contentOf(slot) + by;
  }

  numberOf(slot: number): number {
    return Math.abs(this.#slots[slot + number] ?? 0) - 1;
  }

  isMatched(slot: number): boolean {
    return (this.#slots[slot + number] ?? 0) < 0;
  }

  match(slot: number): void {
    this.#slots[slot + number] = -this.numberOf(slot) - 1;
  }

  each(take: (slot: number) => void): void {
    for (let slot = 0; slot < this.#slots.length; slot += fields) if (this.#slots[slot + number] !== 0) take(slot);
  }
}
