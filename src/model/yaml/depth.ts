// How deep a value nests: recursion over what people send must end.

/** True when a value nests deeper than so many levels; looks no deeper itself. */
export const isDeeperThan = (levels: number, value: unknown): boolean =>
  value !== null &&
  typeof value === 'object' &&
  (levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner)));
