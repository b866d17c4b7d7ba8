// Maps of what can be made again, which do not grow without end.

/** A map that is emptied before it would hold more than `max` entries. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#max && !this.has(key)) this.clear();
    return super.set(key, value);
  }
}

/** `make` with its last results, at most `max`, kept by their argument; `undefined` is not kept. */
export const memoize = <Key, Value>(make: (key: Key) => Value, { max }: { max: number }): ((key: Key) => Value) => {
  const known = new BoundedMap<Key, Value>(max);
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const made = make(key);
    if (made !== undefined) known.set(key, made);
    return made;
  };
};
