// Encodings: by name, those of DOS and old Macintosh systems included; by the first bytes of a file.

/** The characters of the bytes from 0x80 on, of encodings that TextDecoder does not know. */
const others: Record<string, string> = {
  ibm437:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0',
  ibm737:
    'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρσςτυφχψ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀ωάέήϊίόύϋώΆΈΉΊΌΎΏ±≥≤ΪΫ÷≈°∙·√ⁿ²■\u00a0',
  ibm775:
    'ĆüéāäģåćłēŖŗīŹÄÅÉæÆōöĢ¢ŚśÖÜø£Ø×¤ĀĪóŻżź”¦©®¬½¼Ł«»░▒▓│┤ĄČĘĖ╣║╗╝ĮŠ┐└┴┬├─┼ŲŪ╚╔╩╦╠═╬Žąčęėįšųūž┘┌█▄▌▐▀ÓßŌŃõÕµńĶķĻļņĒŅ’\u00ad±“¾¶§÷„°∙·¹³²■\u00a0',
  ibm850:
    'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0',
  ibm852:
    'ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u00ad˝˛ˇ˘§÷¸°¨˙űŘř■\u00a0',
  ibm855:
    'ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u00adыЫзЗшШэЭщЩчЧ§■\u00a0',
  ibm857:
    'ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ºªÊËÈ\ufffdÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\ufffd×ÚÛÙìÿ¯´\u00ad±\ufffd¾¶§÷¸°¨·¹³²■\u00a0',
  ibm862:
    'אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0',
  'x-mac-ce':
    'ÄĀāÉĄÖÜáąČäčĆćéŹźĎíďĒēĖóėôöõúĚěü†°Ę£§•¶ß®©™ę¨≠ģĮįĪ≤≥īĶ∂∑łĻļĽľĹĺŅņŃ¬√ńŇ∆«»…\u00a0ňŐÕőŌ–—“”‘’÷◊ōŔŕŘ‹›řŖŗŠ‚„šŚśÁŤťÍŽžŪÓÔūŮÚůŰűŲųÝýķŻŁżĢˇ',
  'x-mac-greek':
    'Ä¹²É³ÖÜ΅àâä΄¨çéèêë£™îï•½‰ôö¦€ùûü†ΓΔΘΛΞΠß®©ΣΪ§≠°·Α±≤≥¥ΒΕΖΗΙΚΜΦΫΨΩάΝ¬ΟΡ≈Τ«»…\u00a0ΥΧΆΈœ–―“”‘’÷ΉΊΌΎέήίόΏύαβψδεφγηιξκλμνοπώρστθωςχυζϊϋΐΰ\u00ad',
  'x-mac-turkish':
    'ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸĞğİıŞş‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙ\uf8a0ˆ˜¯˘˙˚¸˝˛ˇ',
};

/** The canonical name of an encoding such as `cp1250` or `Latin1`; null for an unsupported one. */
export const encodingNamed = (name: string): string | null => {
  const label = name.trim().toLowerCase();
  const mac = label.replace(/^maccentraleurope$/, 'mac-ce').replace(/^mac-?(?=(?:ce|greek|turkish)$)/, 'x-mac-');
  const other = mac.replace(/^(?:cp|dos)-?(?=\d{3}$)/, 'ibm');
  if (other in others) return other;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
};

/** The decoder of an encoding that {@link encodingNamed} knows. With `fatal` it throws a TypeError at invalid bytes. */
export const decoderOf = (name: string, { fatal = false } = {}): Pick<InstanceType<typeof TextDecoder>, 'decode'> => {
  const known = encodingNamed(name) ?? name;
  const upper = others[known];
  if (upper === undefined) return new TextDecoder(known, { fatal, ignoreBOM: false });
  const high = (character: string): string => upper[character.charCodeAt(0) - 0x80] ?? '';
  const decode = (bytes: Uint8Array = Buffer.alloc(0)): string =>
    Buffer.from(bytes)
      .toString('latin1')
      .replace(/[\x80-\xff]/g, high);
  return { decode };
};

const titles: Record<string, string> = { shift_jis: 'Shift_JIS', big5: 'Big5', macintosh: 'Macintosh' };

/** The name of an encoding in a sentence: `Windows-1250` for windows-1250. */
export const encodingTitle = (name: string): string =>
  titles[name] ??
  (name.startsWith('windows') ? `W${name.slice(1)}` : name.startsWith('x-') ? name : name.toUpperCase());

/** Encodes text as it was written in a file; characters that the encoding lacks become `?`. */
export const encoderOf = (name: string): ((text: string) => Buffer) => {
  const known = encodingNamed(name) ?? name;
  if (known === 'utf-8') return (text) => Buffer.from(text);
  if (known === 'utf-16le') return (text) => Buffer.from(text, 'utf16le');
  if (known === 'utf-16be') return (text) => Buffer.from(text, 'utf16le').swap16();
  const bytes = new Map<string, number[]>();
  const decoder = decoderOf(known);
  const add = (...sequence: number[]): void => {
    const character = decoder.decode(Uint8Array.from(sequence));
    if ([...character].length === 1 && character !== '\ufffd' && !bytes.has(character)) bytes.set(character, sequence);
  };
  for (let byte = 0; byte < 0x100; byte++) add(byte);
  if (multibyte.has(known))
    for (let lead = 0x81; lead < 0xff; lead++) for (let trail = 0x40; trail < 0xff; trail++) add(lead, trail);
  return (text) => Buffer.from([...text].flatMap((character) => bytes.get(character) ?? [0x3f]));
};

const multibyte = new Set(['shift_jis', 'euc-jp', 'gb18030', 'gbk', 'big5', 'euc-kr']);

export const sniffBytes = 64 * 1024;

const startsWith = (head: Uint8Array, ...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte);

const lineFeed = 0x0a;

/** True for pairs of bytes of which that at `zero` is 0 for ASCII: every second byte, or that of every line end. */
const isPaired = (head: Uint8Array, zero: 0 | 1): boolean => {
  if (!head.includes(0)) return false;
  const end = head.length & ~1;
  const begin = Math.min(end, 64);
  let [zeros, others, lines, plainLines] = [0, 0, 0, 0];
  for (let at = 0; at < end; at += 2) {
    const [half, letter] = [head[at + zero], head[at + 1 - zero]];
    if (half === 0) zeros += 1;
    if (letter === 0) others += 1;
    if (letter === lineFeed && half === 0) lines += 1;
    else if (letter === lineFeed || half === lineFeed) plainLines += 1;
    if (at + 2 === begin && begin >= 4 && zeros === begin / 2 && others === 0) return true;
  }
  return lines > 0 && zeros > end / 40 && others < lines / 10 && plainLines < lines / 10;
};

/** An encoding of two or four bytes a character, as a file begins with it; `marked` when by a byte order mark. */
export const wideOf = (head: Uint8Array): { encoding: 'UTF-16LE' | 'UTF-16BE' | 'UTF-32'; marked: boolean } | null => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff))
    return { encoding: 'UTF-32', marked: true };
  const marked = markedEncoding(head);
  if (marked === 'UTF-16LE' || marked === 'UTF-16BE') return { encoding: marked, marked: true };
  if (isPaired(head.subarray(0, sniffBytes), 1)) return { encoding: 'UTF-16LE', marked: false };
  return isPaired(head.subarray(0, sniffBytes), 0) ? { encoding: 'UTF-16BE', marked: false } : null;
};

export const hasBom = (head: Uint8Array): boolean => startsWith(head, 0xef, 0xbb, 0xbf);

/** The encoding that a byte order mark names; null without one. */
export const markedEncoding = (head: Uint8Array): 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | null => {
  if (hasBom(head)) return 'UTF-8';
  if (startsWith(head, 0xff, 0xfe)) return 'UTF-16LE';
  return startsWith(head, 0xfe, 0xff) ? 'UTF-16BE' : null;
};
