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

const turkic = ['tr', 'az'];
const capitalDottedI = 0x130;

const languageOf = ([tag, table]: [string, string]): Language => {
  const isByLetter = tag in byLetter;
  const alphabet = usualLetters(tag);
  if (turkic.includes(tag)) alphabet.add(capitalDottedI);
  const language: Language = { tag, pairs: new Map(), totals: new Map(), letters: 0, byLetter: isByLetter, alphabet };
  let count = 1;
  for (const [part] of table.matchAll(isByLetter ? /\d|./gs : /\d|../gs)) {
    if (/\d/.test(part)) {
      count = 1.4 * 2 ** Number(part);
      continue;
    }
    const codes = [...part].map((letter) => sameLetter[letter] ?? letter.charCodeAt(0));
    const [first = 0, second = 0] = codes;
    const key = isByLetter ? first : pairKey(first, second);
    language.pairs.set(key, (language.pairs.get(key) ?? 0) + count);
    language.totals.set(first, (language.totals.get(first) ?? 0) + count);
    language.letters += count;
    for (const letter of codes) if (letter >= 0x80) alphabet.add(letter);
  }
  return language;
};

let known: Language[] | null = null;

const languages = (): Language[] => (known ??= Object.entries(letterPairs).map(languageOf));

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
  const shape = shapes.get(code) ?? newShape(String.fromCharCode(code), code);
  shapes.set(code, shape);
  return shape;
};

const newShape = (character: string, code: number): Shape => {
  const plain: Shape = { kind: 'plain', letter: space, upper: false, cost: 0, joins: false, high: code >= 0x80 };
  if (/[\p{L}\p{M}]/u.test(character) && !'ªº'.includes(character)) {
    const small = code === capitalDottedI ? character : character.toLowerCase();
    const letter = sameLetter[small] ?? small.charCodeAt(0);
    const isHalfWidth = code >= 0xff61 && code <= 0xff9f;
    return { ...plain, kind: 'letter', letter, upper: small !== character, cost: isHalfWidth ? 6 : 0 };
  }
  if (!plain.high) return plain;
  const symbol: Shape = { ...plain, kind: 'symbol', joins: joining.has(character) };
  if ((/\p{C}/u.test(character) && code !== 0xad) || code === 0xfffd) return { ...symbol, cost: cost.never };
  return { ...symbol, cost: usualSymbols.has(character) ? cost.symbol : cost.rareSymbol };
};

interface Score {
  cost: number;
  /** Pairs with a letter beyond ASCII, and those of them that words of the language have. */
  pairs: number;
  familiar: number;
  /** Characters where no text has them. */
  odd: number;
}

/** How much a letter counts by itself where its pair is rare. */
const smoothing = 6;

const scoreOf = (text: string, language: Language): Score => {
  const score: Score = { cost: 0, pairs: 0, familiar: 0, odd: 0 };
  let last: Shape = shapeOf(space);
  let capitals = 0;
  for (let at = 0; at < text.length; at++) {
    const shape = shapeOf(text.charCodeAt(at));
    score.cost += shape.cost;
    if (shape.cost > cost.symbol) score.odd += 1;
    if (language.byLetter) addLetter(score, language, shape);
    else addPair(score, language, last, shape);
    if (shape.kind === 'letter') {
      if (last.kind === 'letter' && (shape.upper ? !last.upper : last.upper && capitals > 1))
        score.cost += cost.capital;
    } else if (isInside(text, at, last, shape)) {
      score.cost += cost.inside;
      score.odd += 1;
    }
    capitals = shape.upper ? capitals + 1 : 0;
    last = shape;
  }
  return score;
};

const addLetter = (score: Score, { pairs, letters, alphabet }: Language, { kind, letter, high }: Shape): void => {
  if (kind !== 'letter') return;
  const times = pairs.get(letter) ?? 0;
  const floor = high ? (alphabet.has(letter) ? 0.4 / alphabet.size : 1e-6) : 2e-4;
  add(score, (times / letters) * 0.6 + floor, high, times);
};

const addPair = (score: Score, language: Language, last: Shape, shape: Shape): void => {
  if (shape.kind !== 'letter' && last.kind !== 'letter') return;
  const [first, second] = [letterIn(language, last), letterIn(language, shape)];
  const times = language.pairs.get(pairKey(first, second)) ?? 0;
  const alone = (language.totals.get(second) ?? 0) / language.letters;
  const floor = second < 0x80 ? 1e-4 : Math.exp(-cost.foreign);
  const chance = (times + smoothing * Math.max(alone, floor)) / ((language.totals.get(first) ?? 0) + smoothing);
  add(score, chance, isHighLetter(last) || isHighLetter(shape), times);
};

const add = (score: Score, chance: number, isHigh: boolean, times: number): void => {
  score.cost -= Math.log(chance);
  if (!isHigh) return;
  score.pairs += 1;
  if (times > 0) score.familiar += 1;
};

/** The small letter of a Turkish capital with a dot is the usual one. */
const letterIn = ({ alphabet }: Language, { letter }: Shape): number =>
  letter === capitalDottedI && alphabet.has(letter) ? 0x69 : letter;

/** True for a symbol between two letters that may not be there, or at the start of a word that cannot begin with it. */
const isInside = (text: string, at: number, last: Shape, shape: Shape): boolean => {
  const isOdd = shape.kind === 'symbol' ? !shape.joins : '~{}[]\\^`|<>'.includes(text.charAt(at));
  if (!isOdd || shapeOf(text.charCodeAt(at + 1)).kind !== 'letter') return false;
  return last.kind === 'letter' || (shape.kind === 'symbol' && closing.has(text.charAt(at)));
};

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

const isHighLetter = ({ kind, high }: Shape): boolean => kind === 'letter' && high;

const highLetters = (text: string): number[] =>
  Array.from({ length: text.length }, (_, at) => shapeOf(text.charCodeAt(at)))
    .filter(isHighLetter)
    .map(({ letter }) => letter);

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
  const hasSigns = isOfSigns(text);
  const letters = highLetters(text);
  const ownOf = ({ alphabet }: Language): number => letters.filter((letter) => alphabet.has(letter)).length;
  const isTried = (language: Language): boolean => ownOf(language) >= Math.max(1, letters.length * ownShare);
  const tried = hasSigns ? languagesOfSigns(text) : languages().filter(isTried);
  const [best] = tried.map((language) => ({ language, ...scoreOf(text, language) })).sort((a, b) => a.cost - b.cost);
  if (best === undefined) return null;
  const rarity = rarityOf(encoding);
  if (hasSigns && encoding.startsWith('koi8')) return null; // its signs are bytes that letters are in other encodings
  // Signs cost less where they stand as signs do.
  const credit = text.replaceAll(/[\0-\x7f]/g, '').length * (cost.symbol - 1);
  if (hasSigns) return { encoding, text, cost: best.cost - credit + rarity, natural: true, lead: 8 };
  const { language, pairs, familiar, odd } = best;
  const few = letters.length * 0.03;
  // DOS code pages differ from each other in a few letters only.
  const mostForeign = encoding.startsWith('ibm') ? 0 : few;
  const isText = letters.length - ownOf(language) <= mostForeign && odd <= few && !isMonotonous(text) && isAsked(text);
  const isOfLanguage = language.byLetter ? pairs >= 12 && familiar >= pairs * 0.33 : familiar >= pairs * 0.75;
  const lead = language.byLetter ? 25 : 12;
  return { encoding, text, cost: best.cost + rarity, natural: isText && isOfLanguage, lead };
};

/** The languages that a text may be in by its apostrophes: `pa’s` is no word where `Men’s` is one. */
const languagesOfSigns = (text: string): Language[] => {
  if (/\w’(?:s|t|d|m|re|ve|ll)\b/.test(text)) return languages().filter(({ tag }) => tag === 'en');
  const elides = /\b[DdLl]’/.test(text);
  return languages().filter(({ tag, byLetter: is }) => !is && (!elides || ['fr', 'it', 'ca'].includes(tag)));
};

const mostOfOne = 0.3;

/** True when one letter beyond ASCII is more frequent than in any language. */
const isMonotonous = (text: string): boolean => {
  const letters = text.toLowerCase().match(/\p{L}/gu) ?? [];
  const high = letters.filter((letter) => letter > '\x7f');
  const most = Math.max(
    0,
    ...Map.groupBy(high, (letter) => letter)
      .values()
      .map(({ length }) => length),
  );
  return letters.length > 20 && most > letters.length * mostOfOne;
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
