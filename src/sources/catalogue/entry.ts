// One entry of a catalogue as a dataset of a manifest, or why it cannot be published.

import { isObject } from '../../util/json.ts';
import type { DatasetSpec, ManifestBase } from '../manifest/schema.ts';
import { datasetRules } from './dataset-rules.ts';
import { resourcesOf } from './distributions.ts';
import { Draft, type Remark } from './draft.ts';
import { addressText, idOfIdentifier, isNothing, oneLine, textOf } from './values.ts';

/** What is known of an entry before anything else. */
export interface EntryNames {
  identifier: string | null;
  title: string | null;
}

/** A dataset with the identifier it has in the catalogue. */
export interface CatalogueDataset extends DatasetSpec {
  identifier: string;
}

/** How entries are read. */
export interface EntryOptions {
  files: 'link' | 'fetch';
  defaults: ManifestBase['defaults'];
  remark: Remark;
}

/** Identifier and title of an entry, null where it has none. */
export const namesOf = (value: unknown): EntryNames => {
  if (!isObject(value)) return { identifier: null, title: null };
  const title = textOf(value.title);
  return { identifier: identifierOf(value.identifier), title: title === null ? null : oneLine(title) };
};

/** Text, or the `@id` of an object (DCAT-US 3.0). */
const identifierOf = (value: unknown): string | null => {
  const text = isObject(value) ? textOf(value['@id']) : Array.isArray(value) ? null : addressText(value);
  return text === null || text.length > 2000 ? null : text;
};

/** The dataset of an entry, or all its faults. */
export const datasetOf = (
  value: unknown,
  { files, defaults, remark }: EntryOptions,
): { dataset: CatalogueDataset; faults: null } | { dataset: null; faults: string[] } => {
  if (!isObject(value)) return { dataset: null, faults: ['it is no object'] };
  const { identifier, title } = namesOf(value);
  const faults: string[] = [];
  if (identifier === null) faults.push(identifierFault(value.identifier));
  if (title === null) faults.push('it has no title');
  const draft = new Draft(remark);
  const resources = resourcesOf(value.distribution, {
    files,
    defaults: defaults.resource,
    title: title ?? '',
    remark,
    fault: (what) => faults.push(what),
  });
  if (identifier === null || title === null || faults.length > 0) return { dataset: null, faults };
  applyRules(value, draft);
  const { fields, ...details } = defaults.dataset;
  return {
    faults: null,
    dataset: {
      identifier,
      id: idOfIdentifier(identifier),
      title: draft.short('title', title),
      details: { ...details, ...draft.metadata, fields: { ...draft.fields, ...fields } },
      resources,
    },
  };
};

const identifierFault = (value: unknown): string => {
  if (isNothing(value)) return 'it has no identifier';
  if (isObject(value)) return 'its identifier is an object without `@id`';
  return 'its identifier is not text of at most 2,000 characters';
};

const ruled = new Set(['distribution', '@type', '@id', '@context', ...datasetRules.map(({ from }) => from)]);

const applyRules = (value: Record<string, unknown>, draft: Draft): void => {
  for (const rule of datasetRules) if (!isNothing(value[rule.from])) rule.take(value[rule.from], draft);
  const { access } = draft.metadata;
  // Portals ask for a reason where access is limited.
  if (access !== undefined && access !== 'public')
    draft.metadata.rights ??= oneLine(textOf(value.accessLevel) ?? access);
  if (Object.keys(draft.info).length > 0) draft.metadata.additionalInfo = draft.info;
  for (const [key, item] of Object.entries(value)) {
    if (!ruled.has(key) && !isNothing(item)) draft.remark(key, 'has no field on the portal');
  }
};
