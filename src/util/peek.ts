// Looks at the first bytes of a stream.

/** The first bytes, at least `enough` where there are as many, and all bytes from the beginning. */
export const peeked = async (
  bytes: AsyncIterable<Uint8Array>,
  enough: number,
): Promise<{ start: Buffer; all: AsyncIterable<Uint8Array> }> => {
  const source = bytes[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < enough) {
    const { value, done } = await source.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* first;
      yield* { [Symbol.asyncIterator]: () => source };
    } finally {
      await source.return?.(); // a reader that gives up in the first bytes, too, closes what they came from
    }
  };
  return { start: Buffer.concat(first), all: all() };
};
