// Dates in workbooks: numbers that only their style marks as dates.

/** What a number stands for. */
type Shows = 'date' | 'datetime' | 'time' | 'duration';

/** Numbers of the built-in formats that show dates (ECMA-376 part 1, 18.8.30). */
const builtIn = new Map<number, Shows>([
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58].map((id) => [id, 'date'] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 47].map((id) => [id, 'time'] as const),
  [22, 'datetime'],
  [46, 'duration'],
]);

/** What the cells of each style show; null where they are plain numbers. */
export const dateStyles = (cells: readonly number[], formats: ReadonlyMap<number, string>): (Shows | null)[] =>
  cells.map((id) => {
    const format = formats.get(id);
    return format === undefined ? (builtIn.get(id) ?? null) : shownBy(format);
  });

const shownBy = (format: string): Shows | null => {
  // Quoted and escaped text, colours and locales are no parts of the date; `[h]` counts hours beyond a day: a duration.
  const bare = (format.split(';')[0] ?? '').replaceAll(/"[^"]*"|\\.|_.|\*./g, '');
  if (/\[(?:h+|m+|s+)\]/i.test(bare)) return 'duration';
  const letters = bare
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/AM\/PM|A\/P/gi, 'h')
    .toLowerCase();
  if (/general/.test(letters) || /[0#?]/.test(letters.replaceAll(/s\.0+/g, 's'))) return null;
  const dated = /[yd]/.test(letters) || (/m/.test(letters) && !/[hs]/.test(letters));
  const timed = /[hs]/.test(letters);
  if (dated) return timed ? 'datetime' : 'date';
  return timed ? 'time' : null;
};

const dayMs = 86_400_000;

/**
 * A serial number as ISO 8601, a duration in hours, minutes and seconds; null where it stands for no date. Day 60 is 29 February 1900, which never was: the
 * programs keep that error, so days before it are shifted.
 */
export const dateOfSerial = (serial: number, shows: Shows, since1904: boolean): string | null => {
  if (shows === 'duration') return durationOf(serial);
  if (!Number.isFinite(serial) || serial < 0 || serial > 2_958_465.999_999) return null;
  const ms = Math.round(serial * dayMs);
  if (shows === 'time' && serial < 1) return new Date(ms).toISOString().slice(11, 19);
  const days = since1904 ? serial + 1462 : serial;
  if (Math.floor(days) === 60) return null;
  const epoch = Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const iso = new Date(epoch + ms + (since1904 ? 1462 * dayMs : 0)).toISOString();
  const hasTime = ms % dayMs !== 0;
  if (shows === 'date' && !hasTime) return iso.slice(0, 10);
  return iso.slice(0, iso.endsWith('.000Z') ? 19 : 23);
};

const durationOf = (days: number): string | null => {
  const ms = Math.round(Math.abs(days) * dayMs);
  if (!Number.isSafeInteger(ms)) return null;
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1000];
  const parts = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${seconds > 0 ? `${seconds}S` : ''}`;
  return `${days < 0 && ms > 0 ? '-' : ''}PT${parts || '0S'}`;
};
