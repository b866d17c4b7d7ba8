// Notations of dates: `DD.MM.YYYY` and the like, and how text in them becomes ISO 8601.

/** A point in time as it was written, with what holds of a date or time that does not say otherwise. */
const newYear2000 = {
  year: 2000,
  month: 1,
  day: 1,
  hour: 0,
  minute: 0,
  second: 0,
  fraction: '',
  afternoon: null as boolean | null, // not only null
  zone: '',
};

type DateParts = typeof newYear2000;

const monthNames = 'january february march april may june july august september october november december'.split(' ');

type Reader = (text: string) => Partial<DateParts>;
const year = (text: string) => ({ year: Number(text) });
const month = (text: string) => ({ month: Number(text) });
const namedMonth = (names: string[]) => (text: string) => ({ month: names.indexOf(text.toLowerCase()) + 1 });
const day = (text: string) => ({ day: Number(text) });
const hour = (text: string) => ({ hour: Number(text) });

const tokens: Record<string, readonly [pattern: string, read: Reader]> = {
  YYYY: ['\\d{4}', year],
  YY: ['\\d{2}', (text) => year(`${Number(text) < 70 ? '20' : '19'}${text}`)],
  MMMM: ['[a-z]+', namedMonth(monthNames)],
  MMM: ['[a-z]{3}', namedMonth(monthNames.map((name) => name.slice(0, 3)))],
  MM: ['\\d{2}', month],
  M: ['\\d{1,2}', month],
  DD: ['\\d{2}', day],
  D: ['\\d{1,2}', day],
  HH: ['\\d{2}', hour],
  H: ['\\d{1,2}', hour],
  hh: ['\\d{2}', hour],
  h: ['\\d{1,2}', hour],
  mm: ['\\d{2}', (text) => ({ minute: Number(text) })],
  ss: ['\\d{2}', (text) => ({ second: Number(text) })],
  S: ['\\d{1,9}', (fraction) => ({ fraction })],
  A: ['[ap]\\.?m\\.?', (text) => ({ afternoon: /^p/i.test(text) })],
  Z: ['z|[+-]\\d{2}:?\\d{2}', (text) => ({ zone: zoneOf(text) })],
};

/** Longest first, so that `MMMM` is not read as two months. */
const tokenPattern = /YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|H|hh|h|mm|ss|S|A|Z|\[([^\]]*)\]/g;

const zoneOf = (text: string): string => {
  if (/^z$/i.test(text)) return 'Z';
  return text.includes(':') ? text : `${text.slice(0, 3)}:${text.slice(3)}`;
};

/** A point in time as ISO 8601. */
export type DateType = 'date' | 'datetime' | 'time';

/** What is wrong with a notation; null when it can be used. */
export const dateFormatFault = (format: string, to: DateType): string | null => {
  const used: string[] = format.match(tokenPattern) ?? [];
  const has = (...names: string[]): boolean => names.some((name) => used.includes(name));
  const dated = has('YYYY', 'YY') && has('MMMM', 'MMM', 'MM', 'M') && has('DD', 'D');
  const timed = has('HH', 'H') || (has('hh', 'h') && has('A'));
  if (to !== 'time' && !dated)
    return 'must name year (YYYY, YY), month (MM, M, MMM, MMMM) and day (DD, D), such as `DD.MM.YYYY`';
  if (to === 'time' && !timed) return 'must name the hour (HH, H, or h with A), such as `HH:mm`';
  if (new Set(used).size !== used.length) return 'names the same part twice';
  return null;
};

/** Compiles a notation; gives the ISO 8601 text of what was written in it, or null when it does not fit. */
export const dateFormat = (format: string, to: DateType): ((text: string) => string | null) => {
  const readers: Reader[] = [];
  let pattern = '';
  let last = 0;
  for (const match of format.matchAll(tokenPattern)) {
    pattern += escaped(format.slice(last, match.index));
    last = match.index + match[0].length;
    const [part, read] = tokens[match[0]] ?? [];
    if (read !== undefined) readers.push(read);
    pattern += part === undefined ? escaped(match[1] ?? '') : `(${part})`;
  }
  const whole = new RegExp(`^${pattern}${escaped(format.slice(last))}$`, 'i');
  return (text) => {
    const found = whole.exec(text);
    if (found === null) return null;
    const parts: DateParts = Object.assign({}, newYear2000, ...readers.map((read, at) => read(found[at + 1] ?? '')));
    return isReal(parts) ? isoText(parts, to) : null;
  };
};

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&').replaceAll(' ', ' +');

const two = (value: number): string => String(value).padStart(2, '0');

const isoText = (parts: DateParts, to: DateType): string => {
  const { year, month, day, hour, minute, second, fraction, afternoon, zone } = parts;
  const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  const hours = afternoon === null ? hour : (hour % 12) + (afternoon ? 12 : 0);
  const time = `${two(hours)}:${two(minute)}:${two(second)}${fraction === '' ? '' : `.${fraction}`}${zone}`;
  return { date, time, datetime: `${date}T${time}` }[to];
};

const isReal = (parts: DateParts): boolean => {
  const { year, month, day, hour, minute, second, afternoon } = parts;
  // Years repeat after 400, and `Date` takes those below 100 for others.
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  if (month < 1 || month > 12 || day < 1 || day > days) return false;
  if (afternoon !== null && (hour < 1 || hour > 12)) return false;
  return hour <= 23 && minute <= 59 && second <= 59;
};

/** The notation of ISO 8601 that is assumed where none is named. */
export const isoFormats = {
  date: ['YYYY-MM-DD'],
  datetime: [
    'YYYY-MM-DD[T]HH:mm:ss',
    'YYYY-MM-DD[T]HH:mm:ssZ',
    'YYYY-MM-DD[T]HH:mm:ss.S',
    'YYYY-MM-DD[T]HH:mm:ss.SZ',
    'YYYY-MM-DD[T]HH:mm',
    'YYYY-MM-DD[T]HH:mmZ',
    'YYYY-MM-DD HH:mm:ss',
    'YYYY-MM-DD HH:mm',
    'YYYY-MM-DD',
  ],
  time: ['HH:mm:ss', 'HH:mm', 'HH:mm:ss.S'],
} as const;
