// How far a step is that moves the bytes of a large file: what is written down of it, how often, and how that reads.
import { z } from 'zod';
import { sizeWords } from '../util/html.ts';
import { countText } from '../util/plural.ts';
import { spanText } from '../util/quantity.ts';

export const movedSchema = z.object({
  bytes: z.number(),
  /** Bytes in all; null where nobody knows. */
  of: z.number().nullable(),
  /** Bytes a second, lately. */
  rate: z.number(),
  /** When they had moved, Unix milliseconds. */
  at: z.number(),
});

export type Moved = z.infer<typeof movedSchema>;

/** Called with the bytes that a step has moved so far, for each piece of them. */
export type TellMoved = (bytes: number, of: number | null) => void;

/** Smaller files are through before anybody looks. */
const leastBytes = 1_000_000;
const [everyMs, stallsAfterMs] = [1000, 5000];
/** How much the newest second counts in the rate. */
const newest = 0.4;

/** What has moved since `before`; the rate goes along slowly, and begins anew with a file that is sent again. */
export const movedOn = (before: Moved, bytes: number, of: number | null, at: number): Moved => {
  const isAgain = bytes < before.bytes;
  const lately = ((bytes - (isAgain ? 0 : before.bytes)) * 1000) / Math.max(1, at - before.at);
  const rate = isAgain || before.rate === 0 ? lately : before.rate + newest * (lately - before.rate);
  return { bytes, of, rate: Math.round(rate), at };
};

/** Measures one step: `write` is called at most once a second, and never for a small file or after `end`. */
export const meterOf = (write: (moved: Moved) => void): { tell: TellMoved; end: () => void } => {
  let last: Moved = { bytes: 0, of: null, rate: 0, at: Date.now() };
  let now: Pick<Moved, 'bytes' | 'of'> = last;
  let timer: NodeJS.Timeout | undefined;
  const tick = (): void => {
    timer = undefined;
    last = movedOn(last, now.bytes, now.of, Date.now());
    write(last);
  };
  return {
    tell: (bytes, of) => {
      now = { bytes, of };
      if ((of ?? bytes) >= leastBytes) timer ??= setTimeout(tick, Math.max(0, last.at + everyMs - Date.now()));
    },
    end: () => clearTimeout(timer),
  };
};

/** `42% of 105.0 MB, 12.3 MB/s, 5 s left`; without what is not known, and with how long nothing has moved. */
export const movedText = ({ bytes, of, rate, at }: Moved, now: number): string => {
  if (of !== null && bytes >= of) return `100% of ${sizeWords(of)}`;
  const share = of === null ? sizeWords(bytes) : `${Math.floor((100 * bytes) / of)}% of ${sizeWords(of)}`;
  if (now - at > stallsAfterMs) return `${share}, nothing for ${spanText(now - at)}`;
  const left = of === null || rate === 0 ? '' : `, ${spanText(Math.max(1000, (1000 * (of - bytes)) / rate))} left`;
  return `${share}, ${sizeWords(rate)}/s${left}`;
};

/** What is still to come of items that count as done, after their number: `, 12 of them to be verified`; '' for nothing. */
export const unprovenText = (count: number): string =>
  count > 0 ? `, ${countText(count)} of them to be verified` : '';

/** What must have ended before speed and time left are told. */
const knownAfter = { items: 10, ms: 3000 };

/** `4.2/s, 8 s left` of items that ended within `ms`; '' while that says nothing. */
export const paceText = ({ ended, left, ms }: Record<'ended' | 'left' | 'ms', number>): string => {
  if (ended < knownAfter.items || ms < knownAfter.ms) return '';
  const rate = (1000 * ended) / ms;
  return `${rate.toFixed(1)}/s, ${spanText((1000 * left) / rate)} left`;
};
