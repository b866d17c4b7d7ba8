// Files that are no tables whatever their name says, told by how they begin.

const magics: [string, string][] = [
  ['a ZIP archive or an Excel workbook (.xlsx)', '504b0304'],
  ['an old Excel workbook (.xls)', 'd0cf11e0a1b11ae1'],
  ['a gzip archive', '1f8b08'],
  ['a PDF document', '255044462d'],
];

const texts: [string, RegExp][] = [
  ['a web page', /^\s*<(?:!doctype html|html|head|body)[\s>]/i],
  ['an XML document', /^\s*<\?xml\s/i],
  ['JSON', /^\s*(?:\{\s*"[^"\n]{0,200}"\s*:|\[\s*[{[])/],
];

/** What a file is that begins with these bytes; null when it may be a table. */
export const signatureOf = (head: Buffer): string | null => {
  const hex = head.toString('hex', 0, 8);
  const magic = magics.find(([, begin]) => hex.startsWith(begin));
  if (magic !== undefined) return magic[0];
  const start = head.toString('latin1', head[0] === 0xef && head[1] === 0xbb ? 3 : 0, 512);
  return texts.find(([, pattern]) => pattern.test(start))?.[0] ?? null;
};
