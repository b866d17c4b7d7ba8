// The configuration of a resource's file: shown by the status endpoint, changed by configuration calls.
import { isDialectCharacter, type TableDialect } from '../../tables/scan/dialect.ts';
import { escapeHtml } from '../../util/html.ts';
import { Refusal } from '../refusal.ts';

/** `configurable_properties` of a datastore status (spec 2.7). */
export interface ConfigurableProperties {
  delimiter: string;
  quote: string;
  escape: string;
  trailing_delimiter: boolean;
}

/** What was configured, absent keys being defaults. */
export type Configuration = Partial<ConfigurableProperties>;

const tabTypes = new Set(['text/tsv', 'text/tab-separated-values']);

/** True for the content types that are imported (recorded-behaviour 13). */
export const isImportable = (mime: string): boolean => mime === 'text/csv' || tabTypes.has(mime);

/** The properties as the status shows them. The default escape is the recorded one; see {@link dialectOf}. */
export const shownProperties = (configuration: Configuration, mime: string): ConfigurableProperties => ({
  delimiter: tabTypes.has(mime) ? '\t' : ',',
  quote: '"',
  escape: '\\',
  trailing_delimiter: false,
  ...configuration,
});

/**
 * The dialect by which a file is imported. An escape that was not configured means doubled quotes (RFC 4180) although the
 * status shows a backslash, so that backslashes in the data are kept.
 */
export const dialectOf = (configuration: Configuration, mime: string): TableDialect => {
  const { delimiter, quote, trailing_delimiter } = shownProperties(configuration, mime);
  return { delimiter, quote, escape: configuration.escape ?? quote, trailingDelimiter: trailing_delimiter };
};

const character = (name: string, value: unknown, mayBeEmpty: boolean): string => {
  const text = value === '\\t' ? '\t' : value;
  if (typeof text === 'string' && (isDialectCharacter(text) || (mayBeEmpty && text === ''))) return text;
  throw new Refusal(406, `The property ${name} must be one printable ASCII character or a tab.`);
};

const truth = (value: unknown): boolean => {
  if (value === true || value === 1 || value === '1' || value === 'true') return true;
  if (value === false || value === 0 || value === '0' || value === 'false' || value === '' || value === null)
    return false;
  throw new Refusal(406, 'The property trailing_delimiter must be true or false.');
};

const readers: { [K in keyof ConfigurableProperties]: (value: unknown) => ConfigurableProperties[K] } = {
  delimiter: (value) => character('delimiter', value, false),
  quote: (value) => character('quote', value, true),
  escape: (value) => character('escape', value, false),
  trailing_delimiter: truth,
};

/** Changes a configuration; unknown properties and values are refused (406) and nothing is changed. */
export const changedConfiguration = (
  configuration: Configuration,
  properties: Record<string, unknown>,
  mime: string,
): Configuration => {
  const unknown = Object.keys(properties).find((name) => !Object.hasOwn(readers, name));
  if (unknown !== undefined) throw new Refusal(406, `There is no property ${escapeHtml(unknown.slice(0, 64))}.`);
  const changed: Configuration = { ...configuration };
  if ('delimiter' in properties) changed.delimiter = readers.delimiter(properties.delimiter);
  if ('quote' in properties) changed.quote = readers.quote(properties.quote);
  if ('escape' in properties) changed.escape = readers.escape(properties.escape);
  if ('trailing_delimiter' in properties)
    changed.trailing_delimiter = readers.trailing_delimiter(properties.trailing_delimiter);
  const dialect = dialectOf(changed, mime);
  if (dialect.delimiter === dialect.quote || dialect.delimiter === dialect.escape) {
    throw new Refusal(406, 'The delimiter must differ from quote and escape.');
  }
  return changed;
};
