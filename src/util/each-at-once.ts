// Doing the same to many things, several at once.

/**
 * Runs `work` for each of `all`, at most `atOnce` at the same time, in their order. After a failure none is begun any more;
 * those under way are waited for, then the first failure is thrown.
 */
export const eachAtOnce = async <T>(
  all: Iterable<T>,
  atOnce: number,
  work: (each: T) => Promise<unknown>,
): Promise<void> => {
  const next = all[Symbol.iterator]();
  const failures: unknown[] = [];
  const go = async (): Promise<void> => {
    for (let each = next.next(); !each.done && failures.length === 0; each = next.next()) {
      await work(each.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, go));
  if (failures.length > 0) throw failures[0];
};
