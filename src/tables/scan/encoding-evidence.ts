// Detects the encoding of text that is not UTF-8 by language: decodes it with each encoding, and scores the result by how
// often letters follow each other in each language.
import { legacyEncodings } from '../../model/recipe/encodings.ts';
import { decoderOf } from './encodings.ts';
import { letterPairs } from './letter-pairs.ts';

interface Language {
  tag: string;
  /** How often a pair of letters is in its words, by {@link pairKey}; of single letters where it is written by them. */
  pairs: Map<number, number>;
  totals: Map<number, number>;
  letters: number;
  byLetter: boolean;
  alphabet: Set<number>;
}

/** Languages of thousands of letters: an encoding made for them, and the lead bytes of the usual letters in it. */
const byLetter: Record<string, { encoding: string; from: number; to: number }> = {
  ja: { encoding: 'euc-jp', from: 0xa4, to: 0xcf },
  'zh-Hans': { encoding: 'gb18030', from: 0xb0, to: 0xd7 },
  'zh-Hant': { encoding: 'big5', from: 0xa4, to: 0xc6 },
  ko: { encoding: 'euc-kr', from: 0xb0, to: 0xc8 },
};

const usualLetters = (tag: string): Set<number> => {
  const letters = new Set<number>();
  const home = byLetter[tag];
  if (home === undefined) return letters;
  const decoder = decoderOf(home.encoding);
  for (let lead = home.from; lead <= home.to; lead++) {
    for (let trail = 0x40; trail < 0xff; trail++) {
      const text = decoder.decode(Uint8Array.of(lead, trail));
      if (text.length === 1 && /\p{L}/u.test(text)) letters.add(text.charCodeAt(0));
    }
  }
  return letters;
};

const pairKey = (first: number, second: number): number => first * 0x10000 + second;

const space = 0x20;

const languageOf = ([tag, table]: [string, string]): Language => {
  const language: Language = {
    tag,
    pairs: new Map(),
    totals: new Map(),
    letters: 0,
    byLetter: tag in byLetter,
    alphabet: usualLetters(tag),
  };
  const step = language.byLetter ? 1 : 2;
  let count = 1;
  for (let at = 0; at < table.length; ) {
    const code = sameLetter[table.charAt(at)] ?? table.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) {
      count = 1.4 * 2 ** (code - 0x30);
      at += 1;
      continue;
    }
    const second = sameLetter[table.charAt(at + 1)] ?? table.charCodeAt(at + 1);
    const key = language.byLetter ? code : pairKey(code, second);
    language.pairs.set(key, (language.pairs.get(key) ?? 0) + count);
    language.totals.set(code, (language.totals.get(code) ?? 0) + count);
    language.letters += count;
    for (const letter of language.byLetter ? [code] : [code, second]) if (letter >= 0x80) language.alphabet.add(letter);
    at += step;
  }
  return language;
};

let known: Language[] | null = null;

const languages = (): Language[] => {
  known ??= Object.entries(letterPairs).map(languageOf);
  return known;
};

/** Costs: natural logarithms of probabilities, without the sign. */
const cost = {
  /** A letter that the language does not have. */
  foreign: 14,
  symbol: 6,
  rareSymbol: 16,
  /** A symbol between two letters. */
  inside: 6,
  never: 30,
  /** A capital after a small letter, or a small letter after two capitals. */
  capital: 5,
} as const;

const usualSymbols = new Set(['\u00a0', ...'°²³§€–—‘’“”„‚«»…·•½¼¾µ©®™£×№ªº¹´¿¡‰‹›、。「」・ー（）：；，']);
const joining = new Set([...'’·–­ー・´', '\u00a0', '\u00ad']);

const closing = new Set('²³½¼¾µ©®™×ªº…”’');

interface Shape {
  kind: 'plain' | 'letter' | 'symbol';
  letter: number;
  upper: boolean;
  cost: number;
  joins: boolean;
  high: boolean;
}

/** Letters of Romanian with a comma below stand for those with a cedilla, which older encodings have. */
const sameLetter: Record<string, number> = { ș: 0x15f, ț: 0x163 };

const shapes = new Map<number, Shape>();

const shapeOf = (code: number): Shape => {
  const seen = shapes.get(code);
  if (seen !== undefined) return seen;
  const character = String.fromCharCode(code);
  const high = code >= 0x80;
  const small = character === 'İ' ? character : character.toLowerCase();
  const shape: Shape = { kind: 'plain', letter: space, upper: false, cost: 0, joins: false, high };
  if (/[\p{L}\p{M}]/u.test(character) && !'ªº'.includes(character)) {
    Object.assign(shape, {
      kind: 'letter',
      letter: sameLetter[small] ?? small.charCodeAt(0),
      upper: small !== character,
    });
    if (code >= 0xff61 && code <= 0xff9f) shape.cost = 6;
  } else if (high) {
    const never = /[\p{C}]/u.test(character) && code !== 0xad;
    const rare = !usualSymbols.has(character);
    const value = never || code === 0xfffd ? cost.never : rare ? cost.rareSymbol : cost.symbol;
    Object.assign(shape, { kind: 'symbol', cost: value, joins: joining.has(character) });
  }
  shapes.set(code, shape);
  return shape;
};

interface Score {
  cost: number;
  /** Pairs with a letter beyond ASCII, and those of them that words of the language have. */
  pairs: number;
  familiar: number;
  /** Letters beyond ASCII, and those of them that the language does not have. */
  letters: number;
  foreign: number;
  /** Characters where no text has them. */
  odd: number;
}

/** How much a letter counts by itself where its pair is rare. */
const smoothing = 6;

const scoreOf = (text: string, language: Language): Score => {
  const score: Score = { cost: 0, pairs: 0, familiar: 0, letters: 0, foreign: 0, odd: 0 };
  let last: Shape = shapeOf(space);
  let capitals = 0;
  for (let at = 0; at < text.length; at++) {
    const shape = shapeOf(text.charCodeAt(at));
    score.cost += shape.cost;
    if (shape.cost > cost.symbol) score.odd += 1;
    if (language.byLetter) addLetter(score, language, shape);
    else if (shape.kind === 'letter' || last.kind === 'letter') addPair(score, language, last, shape);
    if (shape.kind === 'letter') {
      if (last.kind === 'letter' && isOddCapital(last, shape, capitals)) score.cost += cost.capital;
    } else if (isInside(text, at, last, shape)) {
      score.cost += cost.inside;
      score.odd += 1;
    }
    capitals = shape.upper ? capitals + 1 : 0;
    last = shape;
  }
  return score;
};

const isOddCapital = (last: Shape, shape: Shape, capitals: number): boolean =>
  shape.upper ? !last.upper : last.upper && capitals > 1;

/** True for a symbol between two letters that may not be there, or at the start of a word that cannot begin with it. */
const isInside = (text: string, at: number, last: Shape, shape: Shape): boolean => {
  const isOdd = shape.kind === 'symbol' ? !shape.joins : '~{}[]\\^`|<>'.includes(text.charAt(at));
  if (!isOdd || shapeOf(text.charCodeAt(at + 1)).kind !== 'letter') return false;
  return last.kind === 'letter' || (shape.kind === 'symbol' && closing.has(text.charAt(at)));
};

const turkic = new Set(['tr', 'az']);

const count = (score: Score, isFamiliar: boolean): void => {
  score.pairs += 1;
  if (isFamiliar) score.familiar += 1;
};

const countLetter = (score: Score, language: Language, { high, kind, letter }: Shape): void => {
  if (!high || kind !== 'letter') return;
  score.letters += 1;
  if (!hasLetter(language, letter)) score.foreign += 1;
};

const addLetter = (score: Score, language: Language, shape: Shape): void => {
  if (shape.kind !== 'letter') return;
  const times = language.pairs.get(shape.letter) ?? 0;
  const isUsual = language.alphabet.has(shape.letter);
  const floor = shape.high ? (isUsual ? 0.4 / language.alphabet.size : 1e-6) : 2e-4;
  score.cost -= Math.log((times / language.letters) * 0.6 + floor);
  countLetter(score, language, shape);
  if (shape.high) count(score, times > 0);
};

const addPair = (score: Score, language: Language, last: Shape, shape: Shape): void => {
  const [first, second] = [letterIn(language, last.letter), letterIn(language, shape.letter)];
  const times = language.pairs.get(pairKey(first, second)) ?? 0;
  const alone = (language.totals.get(second) ?? 0) / language.letters;
  const floor = second < 0x80 ? 1e-4 : Math.exp(-cost.foreign);
  const all = (language.totals.get(first) ?? 0) + smoothing;
  score.cost -= Math.log((times + smoothing * Math.max(alone, floor)) / all);
  countLetter(score, language, shape);
  if ((last.high && last.kind === 'letter') || (shape.high && shape.kind === 'letter')) count(score, times > 0);
};

const hasLetter = (language: Language, letter: number): boolean =>
  language.alphabet.has(letter) || (letter === 0x130 && turkic.has(language.tag));

const letterIn = (language: Language, letter: number): number =>
  letter === 0x130 && turkic.has(language.tag) ? 0x69 : letter;

export interface Reading {
  encoding: string;
  text: string;
  cost: number;
  /** True when the text is plainly one of the language in which it makes most sense. */
  natural: boolean;
  /** How much better it must be than the next. */
  lead: number;
}

/** Of the letters beyond ASCII in a text, the share that a language must have to be tried. */
const ownShare = 0.7;

const candidatesOf = (text: string): Language[] => {
  const letters: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const { kind, high, letter } = shapeOf(text.charCodeAt(at));
    if (kind === 'letter' && high) letters.push(letter);
  }
  if (letters.length === 0) return [];
  return languages().filter((language) => {
    const own = letters.filter((letter) => hasLetter(language, letter)).length;
    return own >= letters.length * ownShare;
  });
};

/** Where signs stand in texts without letters beyond ASCII. */
const signs: [RegExp, string][] = [
  // An apostrophe in English and French words, and around words as quotes.
  ['’', String.raw`(?<=\w)’(?=(?:s|t|d|m|re|ve|ll)\b)|(?<=s)’(?=\s|$)|(?<=\b[OoDdLl])’(?=[A-Zaeiouh][a-z]{2})`],
  ['‘“„‚«', String.raw`(?<=^|[\s("[-])[‘“„‚«](?=[\w£€$])`],
  ['’”»', String.raw`(?<=[\w.,!?%)])[’”»](?=$|[\s.,;:!?)"\]-])`],
  ['–—', String.raw`(?<=\s)[–—](?=\s)|(?<=\d)[–—](?=\d)|(?<=[A-Za-z])[–—](?=[A-Z\d])`],
  ['…', String.raw`(?<=[\w.,] ?)…(?=$|\s)`],
  ['£€¥', String.raw`(?<=^|[\s(+/-])[£€¥](?= ?[\d.])|(?<=\d ?)[£€¥](?=$|[\s)/])|(?<=[(\s])[£€](?=[)mk]|$)`],
  ['°', String.raw`(?<=\d ?)°(?=$|[\s\dCFNSEW'])|(?<=[\s(/])°(?=[CF]\b)|(?<=\bN)°(?= ?\d)`],
  ['²³', String.raw`(?<=\b(?:[kcdm]?m|ft|km|sq|in|R|µg/m|g/m))[²³](?=$|[\s)/,.;])`],
  ['½¼¾', String.raw`(?<=\d|^|\s)[½¼¾](?=$|\s|["'])`],
  ['±', String.raw`(?<=^|\s|\d)±(?= ?\d)`],
  ['×', String.raw`(?<=\d ?)×(?= ?\d)`],
  ['µ', String.raw`(?<=^|[\s\d(/])µ(?=[gmslMS]\b)`],
  ['§', String.raw`(?<=^|[\s(§])§(?=[ §]?\d)`],
  ['©®™', String.raw`(?<=\w)[®™](?=$|\W)|©(?= ?[\dA-Z])`],
  ['•·', String.raw`(?<=^|\s)[•·](?=\s)`],
  ['\u00a0', String.raw`(?<=[\w.,:;%)])\u00a0(?=[\w%(€£$-])`],
].map(([some = '', where = '']) => [new RegExp(where, 'gmu'), some]);

/** True for a text without letters beyond ASCII whose signs all stand where such signs do. */
const isOfSigns = (text: string): boolean => {
  const high = text.replaceAll(/[\0-\x7f]/g, '');
  if (high === '' || /[\p{L}\p{M}]/u.test(high.replaceAll(/[ªºµ]/g, ''))) return false;
  return signs.reduce((left, [where]) => left.replaceAll(where, ''), text).replaceAll(/[\0-\x7f]/g, '') === '';
};

/** How rare an encoding is among tables, as a cost. */
const rarityOf = (encoding: string): number => {
  if (encoding.startsWith('x-mac')) return 5;
  if (encoding.startsWith('ibm')) return 3;
  return encoding.startsWith('windows') ? 0 : 2;
};

const readingOf = (encoding: string, text: string): Reading | null => {
  if (/[\ufffd\u0080-\u009f\ue000-\uf8ff]/.test(text)) return null;
  let [best, of]: [Score | null, Language | null] = [null, null];
  const hasSigns = isOfSigns(text);
  for (const language of hasSigns ? languagesOfSigns(text) : candidatesOf(text)) {
    const score = scoreOf(text, language);
    if (best === null || score.cost < best.cost) [best, of] = [score, language];
  }
  if (best === null || of === null) return null;
  if (hasSigns)
    return { encoding, text, cost: best.cost - signCredit(text) + rarityOf(encoding), natural: true, lead: 8 };
  const { pairs, familiar, letters, foreign, odd } = best;
  // DOS code pages differ from each other in a few letters only.
  const mostForeign = encoding.startsWith('ibm') ? 0 : letters * 0.03;
  const known = foreign <= mostForeign && odd <= letters * 0.03 && !isMonotonous(text) && isAsked(text);
  const natural = known && (of.byLetter ? pairs >= 12 && familiar >= pairs * 0.33 : familiar >= pairs * 0.75);
  return { encoding, text, cost: best.cost + rarityOf(encoding), natural, lead: of.byLetter ? 25 : 12 };
};

/** The languages that a text may be in by its apostrophes: `pa’s` is no word where `Men’s` is one. */
const languagesOfSigns = (text: string): Language[] => {
  if (/\w’(?:s|t|d|m|re|ve|ll)\b/.test(text)) return languages().filter(({ tag }) => tag === 'en');
  const elides = /\b[DdLl]’/.test(text);
  return languages().filter(({ tag, byLetter: is }) => !is && (!elides || ['fr', 'it', 'ca'].includes(tag)));
};

/** What signs cost less where they stand as signs do. */
const signCredit = (text: string): number => text.replaceAll(/[\0-\x7f]/g, '').length * (cost.symbol - 1);

const mostOfOne = 0.3;

/** True when one letter beyond ASCII is more frequent than in any language. */
const isMonotonous = (text: string): boolean => {
  const counts = new Map<string, number>();
  let all = 0;
  for (const letter of text.toLowerCase().match(/\p{L}/gu) ?? []) {
    all += 1;
    if (letter > '\x7f') counts.set(letter, (counts.get(letter) ?? 0) + 1);
  }
  return all > 20 && Math.max(0, ...counts.values()) > all * mostOfOne;
};

/** False when a question or exclamation opens as in Spanish, and does not end. */
const isAsked = (text: string): boolean =>
  [...'¿¡'].every((sign, at) => text.split(sign).length <= text.split('?!'.charAt(at)).length);

/** True when a reading is certain; `next` is the second best. */
export const isPlainly = (reading: Reading, next: Reading | undefined): boolean =>
  reading.natural && (next === undefined || next.cost - reading.cost >= reading.lead);

/** All ways to read text that make sense, the best first; of those that give the same text only the first. */
export const readingsOf = (evidence: Buffer, { utf8 = false } = {}): Reading[] => {
  const byText = new Map<string, string>();
  for (const encoding of utf8 ? ['utf-8', ...legacyEncodings] : legacyEncodings) {
    const text = decoderOf(encoding).decode(evidence);
    if (!byText.has(text)) byText.set(text, encoding);
  }
  const readings = [...byText].flatMap(([text, encoding]) => readingOf(encoding, text) ?? []);
  return readings.sort((a, b) => a.cost - b.cost);
};
