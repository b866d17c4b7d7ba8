// The readers of bodies that are held in memory, by MIME type (spec 1, "Request parser types").
import { parseForm } from './form.ts';
import { parseJson } from './json.ts';
import type { BodyParser } from './limits.ts';
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
