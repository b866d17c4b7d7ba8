// Dates and times as catalogues write them (ISO 8601 and its neighbours), to the days that the portal's fields hold.

/** The end of a part of time, for dates that name only a year or month. */
export type Edge = 'begin' | 'end';

/**
 * `2016`, `2016-11`, `20161115`, `2016-11-15`, `2016-11-15T14:30:48.000Z`, `11/15/2016` as `2016-11-15` or
 * `2016-11-15T14:30:48` (UTC where the text has a zone); null for anything else.
 */
export const dayOf = (text: string, edge: Edge = 'begin'): string | null => {
  const plain = text.trim();
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(plain);
  if (american) return realDay(american[3], american[1], american[2]);
  const [, year, month, day, rest = ''] = /^([12]\d{3})(?:-?(\d{2})(?:-?(\d{2})(.*))?)?$/s.exec(plain) ?? [];
  if (year === undefined) return null;
  if (month === undefined) return edge === 'begin' ? `${year}-01-01` : `${year}-12-31`;
  if (day === undefined) return edge === 'begin' ? realDay(year, month, '01') : lastDay(year, month);
  const date = realDay(year, month, day);
  return date === null || rest === '' ? date : timed(date, rest);
};

const realDay = (year = '', month = '', day = ''): string | null => {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : null;
};

const lastDay = (year: string, month: string): string | null => {
  if (realDay(year, month, '01') === null) return null;
  return new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10);
};

const timed = (date: string, rest: string): string | null => {
  const [, time, zone = ''] =
    /^[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2}|[+-]\d{2})?$/i.exec(rest) ?? [];
  if (time === undefined) return null;
  const full = time.length === 5 ? `${time}:00` : time;
  const parsed = new Date(`${date}T${full}${zoneOf(zone)}`);
  return Number.isNaN(parsed.getTime()) ? null : parsed.toISOString().slice(0, 19);
};

const zoneOf = (zone: string): string => {
  if (zone === '' || zone.toUpperCase() === 'Z') return 'Z';
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  return `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
};

/** A stretch of time. */
export interface Span {
  from: string;
  to?: string;
}

/** `2014-01-01/2015-01-01`, `2014/P1Y`, `2014` or `{startDate, endDate}` as a span; null for anything else. */
export const spanOf = (value: string | { startDate: string | null; endDate: string | null }): Span | null => {
  const parts = typeof value === 'string' ? value.split('/') : [value.startDate ?? '', value.endDate ?? ''];
  const [begin = '', end = ''] = parts;
  if (parts.length > 2) return null;
  const from = dayOf(begin);
  if (from === null) return null;
  if (end === '' || end === '..') {
    const last = parts.length === 1 ? dayOf(begin, 'end') : null;
    return last === null || last === from ? { from } : { from, to: last };
  }
  const to = end.startsWith('P') ? after(from, end) : dayOf(end, 'end');
  if (to === null) return null;
  return to.slice(0, 10) < from.slice(0, 10) ? null : { from, to };
};

/** The day a duration of years, months, weeks and days after another. */
const after = (from: string, duration: string): string | null => {
  const [match, years, months, weeks, days] = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?$/.exec(duration) ?? [];
  if (match === undefined || match === 'P') return null;
  const date = new Date(`${from.slice(0, 10)}T00:00:00Z`);
  date.setUTCFullYear(date.getUTCFullYear() + Number(years ?? 0), date.getUTCMonth() + Number(months ?? 0));
  date.setUTCDate(date.getUTCDate() + Number(weeks ?? 0) * 7 + Number(days ?? 0));
  return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10);
};
