// What the number of a cell shows by the format of its style: a date, a code with zeros in front, or the number itself.

/** How a format shows a number: as a date or time, or digit by digit (`00000`, `"NUTS"000`, `(###) ###-####`). */
export type Shows = 'date' | 'datetime' | 'time' | 'duration' | Section[];

/** One part of a format between semicolons. A placeholder (`0`, `#`, `?`) stands behind U+0000, any other character for itself. */
interface Section {
  /** Of which numbers it is; null where its place in the format says so. */
  condition: ((value: number) => boolean) | null;
  whole: string[];
  decimals: string[] | null;
  /** False for amounts, shares and everything else that is not shown digit by digit. */
  isCode: boolean;
}

/** Numbers of the built-in formats that show dates (ECMA-376 part 1, 18.8.30). */
const builtIn = new Map<number, Shows>([
  ...[14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58].map((id) => [id, 'date'] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 47].map((id) => [id, 'time'] as const),
  [22, 'datetime'],
  [46, 'duration'],
]);

/** What the cells of each style show, whose formats have these numbers; null where they are plain numbers. */
export const stylesShow = (cells: readonly number[], formats: ReadonlyMap<number, string>): (Shows | null)[] => {
  const shown = new Map([...formats].map(([id, format]) => [id, dateBy(format) ?? codeBy(format)]));
  return cells.map((id) => {
    const format = shown.get(id);
    return format === undefined ? (builtIn.get(id) ?? null) : format;
  });
};

/** The text of a number by what its style shows: dates in ISO 8601, codes as people see them, others as plain numbers. */
export const numberText = (text: string, shows: Shows | null, since1904: boolean): string => {
  if (typeof shows === 'string') return dateOfSerial(Number(text), shows, since1904) ?? plainNumber(text);
  const plain = plainNumber(text);
  return (shows === null ? null : codeOf(plain, shows)) ?? plain;
};

/** A number without the noise of binary fractions (`0.30000000000000004`): 15 digits are what spreadsheets show. */
const plainNumber = (text: string): string => {
  if (/^-?\d+$/.test(text)) return text;
  const value = Number(text);
  // Rounding would take digits of large whole numbers, which are identifiers, and lead beyond the largest number.
  if (Math.abs(value) < 1e15) return String(Number(value.toPrecision(15)));
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(BigInt(value)) : text;
};

/** Quoted and escaped text, the width of a character, and filling are no parts of a date. */
const dateBy = (format: string): Exclude<Shows, Section[]> | null => {
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

/** The parts of a format: quoted and escaped text, what is in brackets, the width of a character, filling, the rest. */
const tokens = /"([^"]*)"|\\([\s\S])|\[([^\]]*)\]|[_*][\s\S]|[\s\S]/g;

/** A format that shows numbers digit by digit; null for others. */
const codeBy = (format: string): Section[] | null => {
  const sections = [newSection()];
  for (const token of format.matchAll(tokens)) {
    if (token[0] === ';') sections.push(newSection());
    else readToken(sections.at(-1) ?? newSection(), token);
  }
  for (const section of sections) section.isCode &&= isCode(section);
  return sections.some((section) => section.isCode) ? sections : null;
};

const readToken = (section: Section, [token, quoted, escaped, bracket]: RegExpExecArray): void => {
  const parts = section.decimals ?? section.whole;
  const text = quoted ?? escaped ?? (/^[-+():!^&'~{}<>= ]$/.test(token) ? token : null);
  if (text !== null) parts.push(...text);
  else if (bracket !== undefined) readBracket(section, bracket);
  else if (/^[0#?]$/.test(token)) parts.push(`\0${token}`);
  else if (token === '.' && section.decimals === null) section.decimals = [];
  else if (token.length === 1) section.isCode = false; // not the width of a character, and no filling
};

const newSection = (): Section => ({ condition: null, whole: [], decimals: null, isCode: true });

const readBracket = (section: Section, bracket: string): void => {
  const [, sign = '', bound = ''] = /^(<>|[<>]=?|=)(-?[\d.]+)$/.exec(bracket) ?? [];
  const limit = Number(bound);
  if (sign === '<>') section.condition = (value) => value !== limit;
  else if (sign !== '') {
    const [less, same, more] = [...'<=>'].map((part) => sign.includes(part));
    section.condition = (value) => (value < limit ? less : value > limit ? more : same) === true;
  }
  // Colours and locales change nothing that matters; a currency makes it an amount.
  else if (!/^(?:\$-.*|[a-z]+ ?\d*)$/i.test(bracket)) section.isCode = false;
};

/** Several zeros pad; characters between digits divide a code, unless they separate thousands. */
const isCode = ({ whole }: Section): boolean => {
  const zeros = whole.filter((part) => part === '\x000').length;
  const [first, last] = [whole.findIndex(isPlaceholder), whole.findLastIndex(isPlaceholder)];
  const inner = whole.slice(first, last).filter((part) => !isPlaceholder(part));
  if (whole.some((part) => /[$€£¥%]/.test(part))) return false;
  return zeros > 1 || (first >= 0 && inner.some((part) => !/[\s'’.,]/.test(part)));
};

const isPlaceholder = (part: string): boolean => part.startsWith('\0');

/** A number as its format shows it; null where that would lose digits, or is no code. */
const codeOf = (plain: string, sections: Section[]): string | null => {
  const [, minus, digits, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(plain) ?? [];
  if (digits === undefined) return null;
  const value = Number(plain);
  const { section, isOwn } = sectionFor(value, sections);
  const { whole, decimals, isCode: shows } = section ?? newSection();
  if (!shows || fraction.length > (decimals ?? []).filter(isPlaceholder).length) return null;
  const left = [...digits.replace(/^0+/, '')];
  const first = whole.findIndex(isPlaceholder);
  const shown = [...whole];
  for (let at = whole.length - 1; at >= 0; at--) {
    const part = whole[at] ?? '';
    if (at === first) shown[at] = left.length > 0 ? left.join('') : filler(part);
    else if (isPlaceholder(part)) shown[at] = left.pop() ?? filler(part);
  }
  const right = [...fraction];
  const behind = decimals?.map((part) => (isPlaceholder(part) ? (right.shift() ?? filler(part)) : part));
  const text = `${shown.join('')}${behind === undefined ? '' : `.${behind.join('')}`}`.trim();
  return minus === '-' && !isOwn ? `-${text}` : text;
};

const filler = (placeholder: string): string => (placeholder === '\x000' ? '0' : '');

/** Without conditions, the second section is of negative numbers and the third of 0; `isOwn` where it shows the sign itself. */
const sectionFor = (value: number, sections: Section[]): { section: Section | undefined; isOwn: boolean } => {
  if (sections.some(({ condition }) => condition !== null)) {
    return { section: sections.find(({ condition }) => condition === null || condition(value)), isOwn: false };
  }
  const [, negative, zero] = sections;
  if (value < 0 && negative !== undefined) return { section: negative, isOwn: true };
  return { section: value === 0 && zero !== undefined ? zero : sections[0], isOwn: false };
};

const dayMs = 86_400_000;

/**
 * A serial number as ISO 8601, a duration in hours, minutes and seconds; null where it stands for no date. Day 60 is
 * 29 February 1900, which never existed; spreadsheets keep that error, so days before it are shifted.
 */
const dateOfSerial = (serial: number, shows: Exclude<Shows, Section[]>, since1904: boolean): string | null => {
  if (shows === 'duration') return durationOf(serial);
  if (!Number.isFinite(serial) || serial < 0 || serial > 2_958_465.999_999) return null;
  const ms = Math.round(serial * dayMs);
  if (shows === 'time' && serial < 1) return new Date(ms).toISOString().slice(11, 19);
  const days = since1904 ? serial + 1462 : serial;
  if (Math.floor(days) === 60) return null;
  const epoch = Date.UTC(1899, 11, days < 60 ? 31 : 30);
  const iso = new Date(epoch + ms + (since1904 ? 1462 * dayMs : 0)).toISOString();
  if (shows === 'date' && ms % dayMs === 0) return iso.slice(0, 10);
  return iso.slice(0, iso.endsWith('.000Z') ? 19 : 23);
};

const durationOf = (days: number): string | null => {
  const ms = Math.round(Math.abs(days) * dayMs);
  if (!Number.isSafeInteger(ms)) return null;
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1000];
  const parts = `${hours > 0 ? `${hours}H` : ''}${minutes > 0 ? `${minutes}M` : ''}${seconds > 0 ? `${seconds}S` : ''}`;
  return `${days < 0 && ms > 0 ? '-' : ''}PT${parts || '0S'}`;
};
