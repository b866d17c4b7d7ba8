// The readers of request bodies, and which one a Content-Type chooses (spec 1, "Request parser types").
import { parseForm } from './form.ts';
import { parseJson } from './json.ts';
import type { BodyParser } from './limits.ts';
import { matchMime } from './mime-match.ts';
import { parsePhp } from './php-in.ts';
import { parseXml } from './xml-in.ts';
import { parseYaml } from './yaml-in.ts';

/** Every reader but that of multipart/form-data, which takes the stream and is added by the caller. */
export const bodyParsers: Readonly<Record<string, BodyParser<unknown>>> = {
  'application/json': parseJson,
  'application/vnd.php.serialized': parsePhp,
  'application/x-www-form-urlencoded': parseForm,
  'application/x-yaml': parseYaml,
  'application/xml': parseXml,
  'text/xml': parseXml,
};

/** What a Content-Type chose: a reader, none (406), or a type that is no MIME type. */
export type ParserChoice<P> = { type: string; parser: P } | { unsupported: string } | { malformed: string };

const formType = 'application/x-www-form-urlencoded';

/**
 * The reader for a Content-Type. A missing or empty one is form-encoded; parameters are ignored, case matters, and
 * wildcards choose as they do in Accept. Never throws. Source: recorded behaviour 4.
 */
export const chooseParser = <P>(
  contentType: string | undefined,
  parsers: Readonly<Record<string, P>>,
): ParserChoice<P> => {
  const given = contentType === undefined || contentType.trim() === '' ? formType : contentType.trim();
  const match = matchMime(given, Object.keys(parsers));
  if ('malformed' in match) return { malformed: match.malformed };
  const parser = match.type !== null && Object.hasOwn(parsers, match.type) ? parsers[match.type] : undefined;
  if (match.type === null || parser === undefined) return { unsupported: given.split(';')[0]?.trim() ?? given };
  return { type: match.type, parser };
};
