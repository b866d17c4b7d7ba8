// Encodings of text that can be named, and those that a table is checked in. Apart from the schemas, for threads that need none.

const numbered = (prefix: string, numbers: number[]): string[] => numbers.map((number) => `${prefix}${number}`);

/** Encodings that tables are checked in where they are not UTF-8; of those that read a file alike the first is reported. */
export const legacyEncodings: readonly string[] = [
  ...numbered('windows-', [1252, 1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258, 874]),
  ...numbered('iso-8859-', [2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16]),
  ...['koi8-r', 'koi8-u', 'macintosh', 'x-mac-cyrillic'],
  ...numbered('ibm', [866, 437, 737, 775, 850, 852, 855, 857, 862]),
  ...['x-mac-ce', 'x-mac-greek', 'x-mac-turkish'],
  ...['shift_jis', 'euc-jp', 'gb18030', 'big5', 'euc-kr'],
];

/** Encodings that can be named; UTF-8 is assumed, and refused where it is not. */
export const encodings: readonly string[] = [
  ...['utf-8', 'utf-16le', 'utf-16be'],
  ...legacyEncodings,
  ...['iso-8859-1', 'iso-8859-9', 'iso-2022-jp', 'gbk'],
  ...numbered('cp', [1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258]),
  ...numbered('cp', [437, 737, 775, 850, 852, 855, 857, 862, 866]),
];
