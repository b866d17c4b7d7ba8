// A bencode reader of the plainest kind, to check our writer against.
import type { Value } from '../../src/embedded-portal/media/value.ts';

/** The value of a bencode text; throws on anything else. Integers become numbers, keys must be sorted by bytes. */
export const readBencode = (bytes: Buffer): Value => {
  let at = 0;
  const upTo = (end: string): string => {
    const stop = bytes.indexOf(end, at, 'latin1');
    if (stop === -1) throw new Error(`no ${end} behind byte ${at}`);
    const text = bytes.toString('latin1', at, stop);
    at = stop + 1;
    return text;
  };
  const text = (): string => {
    const length = upTo(':');
    if (!/^(?:0|[1-9]\d*)$/.test(length)) throw new Error(`no length at byte ${at}`);
    const start = at;
    at += Number(length);
    if (at > bytes.length) throw new Error('a text is cut off');
    return bytes.toString('utf8', start, at);
  };
  const until = (readOne: () => void): void => {
    at += 1;
    while (bytes[at] !== 0x65) readOne();
    at += 1;
  };
  const value = (): Value => {
    const tag = String.fromCharCode(bytes[at] ?? 0);
    if (tag === 'i') {
      at += 1;
      return Number(upTo('e'));
    }
    if (tag === 'l') {
      const list: Value[] = [];
      until(() => list.push(value()));
      return list;
    }
    if (tag !== 'd') return text();
    const entries: [string, Value][] = [];
    until(() => entries.push([text(), value()]));
    const keys = entries.map(([key]) => key);
    const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    if (keys.join('\0') !== sorted.join('\0')) throw new Error('keys are not sorted');
    return Object.fromEntries(entries);
  };
  const whole = value();
  if (at !== bytes.length) throw new Error(`something is left behind byte ${at}`);
  return whole;
};
