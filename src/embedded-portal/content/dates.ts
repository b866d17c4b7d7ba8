// Date items of a node (recorded behaviour 7).

const parts = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

const pad = (value: number): string => String(value).padStart(2, '0');

/** A date as the portal stores it, `YYYY-MM-DD HH:MM:SS` in UTC, from ISO 8601 or that form; null when it is no date. */
export const readDate = (text: string): string | null => {
  const match = parts.exec(text.trim());
  if (match === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  if (zone === 'Z' && (date.getUTCDate() !== Number(day) || date.getUTCMonth() + 1 !== Number(month))) return null;
  return `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())} ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
};

const dump = (date: string): Record<string, unknown> => ({
  granularity: ['year', 'month', 'day', 'hour', 'minute', 'second', 'timezone'],
  errors: [],
  timeOnly: false,
  dateOnly: false,
  originalTime: `${date.replace(' ', 'T')}+00:00`,
  date: `${date}.000000`,
  timezone_type: 3,
  timezone: 'UTC',
});

/** The read shape of a date, or of a period when `end` is given; both as {@link readDate} returns them. */
export const dateItem = (value: string, end: string | null): Record<string, unknown> => ({
  value,
  ...(end === null ? {} : { value2: end }),
  timezone: 'UTC',
  timezone_db: 'UTC',
  date_type: 'datetime',
  db: { value: dump(value), ...(end === null ? {} : { value2: dump(end) }) },
});
