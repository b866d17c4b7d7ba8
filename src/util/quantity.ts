// Durations ('2s', '15m') and sizes ('10 MB') as people write them.
import { z } from 'zod';

const durationUnits = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const sizeUnits = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
} as const;

const durationPattern = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;
const sizePattern = /^(\d+(?:\.\d+)?) ?([kKMGT]?i?[bB])$/;

const quantity = (pattern: RegExp, what: string, examples: string[]) =>
  z
    .string({ error: `must be a ${what}` })
    .regex(pattern, { error: `must be a ${what}` })
    .meta({ examples });

/** A duration as text: a number and ms, s, m, h or d. */
export const durationText = quantity(durationPattern, 'duration such as `500ms`, `2s`, `15m`, `6h` or `7d`', [
  '2s',
  '15m',
]);

/** A size as text: a number and B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024). */
export const sizeText = quantity(sizePattern, 'size such as `500 kB`, `10 MB` or `2 GiB`', ['10 MB']);

const amountOf = (text: string, pattern: RegExp, units: Record<string, number>): number => {
  const [, amount, unit = ''] = pattern.exec(text) ?? [];
  const factor = units[unit.toLowerCase()];
  if (factor === undefined) throw new RangeError(`not an amount: ${text}`);
  return Math.round(Number(amount) * factor);
};

/** Milliseconds of a duration that {@link durationText} accepted; throws a RangeError for other text. */
export const durationMs = (text: string): number => amountOf(text, durationPattern, durationUnits);

/** A duration as people write it, in the largest unit that gives a whole number: `10m`. */
export const durationWords = (ms: number): string => {
  const units = Object.entries(durationUnits).reverse();
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
};

/** Bytes of a size that {@link sizeText} accepted; throws a RangeError for other text. */
export const sizeBytes = (text: string): number => amountOf(text, sizePattern, sizeUnits);

/** How long something has lasted or lasts: `12 s`, `3 min`, `5 h`, `2 days`. */
export const spanText = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
};
