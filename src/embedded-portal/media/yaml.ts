// Writes YAML as deployed servers do: `---`, four blanks a level, `- ` alone before a list or map in a list.
import {
  hiddenDateProperties,
  isDateObject,
  isMap,
  type Value,
  type ValueMap,
  type WriteOptions,
  type WriteStyle,
} from './value.ts';
import { trimEnd, yamlKey, yamlText } from './yaml-scalar.ts';

const indentStep = 4;
// Readers take a key for one only if the colon follows within 1,024 characters.
const longestKey = 1000;

type Scope = { style: WriteStyle; dates: boolean };

const isEmpty = (value: Value): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

const leaf = (value: Value, indent: number, style: WriteStyle): string => {
  if (typeof value === 'string') return yamlText(value, indent, style);
  if (Array.isArray(value)) return '[ ]';
  return isMap(value) ? (style !== 'sound' ? '[ ]' : '{ }') : String(value);
};

/** The entries of a map, with the hidden properties of a date where deployed servers show them. */
const entriesOf = (map: ValueMap, scope: Scope): [string, Value][] => {
  const entries = Object.entries(map);
  if (!scope.dates || !isDateObject(map)) return entries;
  const after = entries.findIndex(([key]) => key === 'errors') + 1;
  return entries.toSpliced(after, 0, ...hiddenDateProperties(map));
};

const entryHead = (key: string, pad: string, style: WriteStyle): string => {
  const spelt = yamlKey(key, style);
  return style === 'sound' && spelt.length > longestKey ? `${pad}? ${spelt}\n${pad}: ` : `${pad}${spelt}: `;
};

const block = (value: Value[] | ValueMap, indent: number, scope: Scope): string => {
  const pad = ' '.repeat(indent);
  const lines = (head: string, part: Value, finish: (line: string) => string): string => {
    const nested = typeof part === 'object' && part !== null && !isEmpty(part);
    if (nested) return `${finish(head)}\n${block(part, indent + indentStep, scope)}`;
    return `${finish(head + leaf(part, indent, scope.style))}\n`;
  };
  if (Array.isArray(value)) return value.map((item) => lines(`${pad}- `, item, (line) => line)).join('');
  return entriesOf(value, scope)
    .map(([key, part]) => lines(entryHead(key, pad, scope.style), part, trimEnd))
    .join('');
};

// PHP takes these for false, and deployed servers then write an empty document.
const isFalsy = (value: Value): boolean => value === false || value === 0 || value === '' || value === '0';

/**
 * The value as a YAML document; a scalar is a list of one, null and empty lists are `---` alone.
 * In the `recorded` style byte for byte what deployed servers write, faults included: line ends and quotes at the ends
 * of texts get lost, some texts are no YAML at all, the hidden properties of date objects show. In the `sound` style
 * YAML 1.1 and 1.2 readers get every value back. Source: recorded behaviour 3, read_formats.
 */
export const writeYaml = (value: Value, options: WriteOptions): string => {
  const scope = { style: options.style, dates: options.style !== 'sound' && options.shape === 'node' };
  if (value === null || isEmpty(value) || (options.style !== 'sound' && isFalsy(value))) return '---\n';
  return `---\n${block(typeof value === 'object' ? value : [value], 0, scope)}`;
};
