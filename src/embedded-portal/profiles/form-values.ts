// Values of the editing form of release C.

/** Options of the frequency field: integers as text (recorded behaviour 8a). */
export const formFrequencies: readonly string[] = Array.from({ length: 19 }, (_, number) => String(number));
