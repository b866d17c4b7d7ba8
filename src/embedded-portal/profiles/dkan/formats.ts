// Replies byte for byte as deployed servers write them, also where no reader of the format can read them back.
import { writeBencode } from '../../media/bencode.ts';
import { type Format, type FormatName, formatChooser, formats, matchMime, mimeTypes } from '../../media/formats.ts';
import { writePhp } from '../../media/php.ts';
import { phpNumeric, type Value } from '../../media/value.ts';
import { element, xmlDocument } from '../../media/xml.ts';
import { hiddenDateProperties, isDateObject, writeRecordedYaml } from './yaml.ts';

/** Null and booleans are left out in bencode, the dates of a node are objects in PHP. */
export const recordedFormats: Readonly<Record<FormatName, Format>> = {
  ...formats,
  bencode: { ...formats.bencode, write: (value) => writeBencode(value, () => '') },
  php: {
    ...formats.php,
    write: (value, { shape }) =>
      writePhp(value, shape, (map) =>
        shape === 'node' && isDateObject(map) ? { name: 'DateObject', properties: hiddenDateProperties(map) } : null,
      ),
  },
  yaml: { ...formats.yaml, write: writeRecordedYaml },
};

/** XML without the elements of a map: what is left of one looks like an empty list. */
const keyless = (name: string, value: Value): string => {
  if (value === null || typeof value !== 'object') return element(name, value);
  if (Object.keys(value).length === 0) return `<${name}/>`;
  const items = Object.entries(value).filter(([key]) => phpNumeric(key));
  if (items.length === 0) return `<${name} is_array="true"/>`;
  return `<${name} is_array="true">${items.map(([, child]) => keyless('item', child)).join('')}</${name}>`;
};

/** The same with the XML of release A, which drops every element that has a name of its own. */
export const keylessFormats: Readonly<Record<FormatName, Format>> = {
  ...recordedFormats,
  xml: { ...formats.xml, write: (value) => xmlDocument(keyless('result', value)) },
};

/** JSON without Accept, YAML for `*\/*`; the case of a type matters. */
export const chooseRecordedFormat = formatChooser({ any: 'yaml', match: (accept) => matchMime(accept, mimeTypes) });
