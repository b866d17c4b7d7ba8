// The file name of what is fetched.
import { basename } from 'node:path';
import { endingOf, tellsType } from '../../dataset-api/file-types.ts';

/** The name a reply gives by Content-Disposition (RFC 6266), else the last part of the address; null when neither has one. */
export const fileNameOf = (disposition: string | undefined, url: URL): string | null =>
  safe(dispositionName(disposition ?? '')) ?? nameInPath(url);

/** The last part of an address' path as a file name; null when it has none. */
export const nameInPath = (url: URL): string | null => safe(decoded(url.pathname.split('/').at(-1) ?? ''));

/** The file name of what was fetched: as wished, else what its server told, with the ending of its content type at least. */
export const nameOfFetched = (
  { name, isNamed }: { name: string; isNamed?: boolean },
  { fileName, contentType }: { fileName: string | null; contentType: string | null },
): string => {
  if (isNamed) return name;
  if (fileName !== null && tellsType(fileName)) return fileName;
  return tellsType(name) ? name : `${fileName ?? name}${endingOf(contentType)}`;
};

const dispositionName = (header: string): string => {
  const extended = /;\s*filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^;\s]+)/i.exec(header)?.[1];
  if (extended !== undefined) return decoded(extended);
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1];
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1');
  return /;\s*filename\s*=\s*([^;\s"]+)/i.exec(header)?.[1] ?? '';
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const maxNameBytes = 200;

/** Neither folders nor control characters, and not so long that a file system refuses it. */
const safe = (name: string): string | null => {
  const plain = basename(name.replaceAll('\\', '/'))
    .replace(/\p{Cc}/gu, '')
    .trim();
  if (plain === '' || plain === '.' || plain === '..') return null;
  const end = /\.[A-Za-z0-9.]{1,16}$/.exec(plain)?.[0] ?? '';
  const stem = [...plain.slice(0, plain.length - end.length)];
  while (Buffer.byteLength(stem.join('') + end) > maxNameBytes) stem.pop();
  return stem.join('') + end;
};
