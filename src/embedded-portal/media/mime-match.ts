// Matches MIME types against a header of ranges, by the recorded rules.

interface Range {
  type: string;
  subtype: string;
  quality: number;
}

/** What a header chose: a type and how well it fits, nothing, or a range that is no MIME type. */
export type MimeMatch = { type: string; fitness: number } | { type: null } | { malformed: string };

const qualityOf = (parameters: string[]): number => {
  const given = parameters.map((part) => /^\s*q\s*=(.*)$/.exec(part)?.[1]?.trim()).find((q) => q !== undefined);
  const quality = given === undefined || !/^[0-9]*\.?[0-9]+$/.test(given) ? 1 : Number(given);
  return quality <= 0 || quality > 1 ? 1 : quality; // 0 counts as 1: recorded
};

const parseRange = (text: string): Range | null => {
  const [name = '', ...parameters] = text.split(';');
  const full = name.trim() === '*' ? '*/*' : name.trim();
  const [type, subtype] = full.split('/');
  return type === undefined || subtype === undefined ? null : { type, subtype, quality: qualityOf(parameters) };
};

const fits = (range: Range, type: string, subtype: string): boolean =>
  (range.type === type || range.type === '*') && (range.subtype === subtype || range.subtype === '*');

/** 110 for the very type, 100 for the type with any subtype, 0 for anything; -1 where the range does not match. */
const fitnessOf = (range: Range, mimeType: string): number => {
  const [type = '', subtype = ''] = mimeType.split('/');
  if (!fits(range, type, subtype)) return -1;
  return (range.type === type ? 100 : 0) + (range.subtype === subtype ? 10 : 0);
};

/**
 * The supported type that fits a header best: by fitness first, among equals by q, then the alphabetically last name.
 * `preferred` wins where both are equal. Types are case-sensitive, `*` is any type, parameters other than q are ignored, empty ranges are skipped.
 * Source: recorded behaviour 3.
 */
export const matchMime = (header: string, supported: readonly string[], preferred: string | null = null): MimeMatch => {
  const ranges: Range[] = [];
  for (const part of header.split(',')) {
    if (part.trim() === '') continue;
    const range = parseRange(part);
    if (range === null) return { malformed: part.trim() };
    ranges.push(range);
  }
  let best = { type: '', fitness: -1, quality: 0 };
  for (const type of supported.toSorted()) {
    let own = { type, fitness: -1, quality: 0 };
    for (const range of ranges) {
      const fitness = fitnessOf(range, type);
      if (fitness > own.fitness) own = { type, fitness, quality: range.quality };
    }
    const isTie = own.fitness === best.fitness && own.quality === best.quality;
    const better =
      own.fitness > best.fitness ||
      (own.fitness === best.fitness && own.quality > best.quality) ||
      (isTie && best.type !== preferred);
    if (own.fitness >= 0 && better) best = own;
  }
  return best.fitness < 0 ? { type: null } : { type: best.type, fitness: best.fitness };
};
