// How much one answer may hold: rows are bounded by their number, and by their bytes where they are wide.

/** Most text of an answer, in characters; written out and on its way to slow readers it takes several times that. */
export const answerLength = 8_000_000;

/** What is left for the searches of one request. */
export interface AnswerBudget {
  left: number;
}

/** What a name and a value take beside their characters: quotes, colon, comma. */
const around = 6;

const lengthOf = (record: Record<string, unknown>): number => {
  let length = 2;
  for (const name in record) length += name.length + String(record[name]).length + around;
  return length;
};

/** Records that fit. */
export interface Taken {
  records: Record<string, unknown>[];
  /** Characters they take. */
  length: number;
  /** True when there were more than fit. */
  isCut: boolean;
}

/** The first records that fit into `most` characters, but one at least. */
export const takeWithin = (records: Iterable<Record<string, unknown>>, most: number): Taken => {
  const taken: Taken = { records: [], length: 0, isCut: false };
  for (const record of records) {
    const length = lengthOf(record);
    if (taken.records.length > 0 && taken.length + length > most) return { ...taken, isCut: true };
    taken.length += length;
    taken.records.push(record);
  }
  return taken;
};
