// The two dialects of node fields: one table from the entity shape to the editing form's shape; and which one a portal speaks.
import { paths } from '../dataset-api/paths.ts';
import type { PortalError } from '../model/errors.ts';
import type { NodeFields } from '../model/wish.ts';
import { isAnswer } from './answers.ts';
import { bodyOf, nodeRowsSchema, type PortalNode } from './replies.ts';
import type { Caller } from './session.ts';
import type { Dialect, Traits } from './traits.ts';

type Item = Record<string, unknown>;

/** Node fields ready to be sent, and those that the dialect cannot express. */
interface ShapedFields {
  fields: NodeFields;
  /** Why a field cannot be sent, by its name; it is left out then. */
  problems: Record<string, string[]>;
}

/**
 * Node fields in the shape a dialect takes; `fields` are in entity shape (`{und: [{…}]}`). Fields whose shape is the
 * same in both, and values that are written in another way already, are passed through as they are.
 */
export const fieldsFor = (dialect: Dialect, fields: NodeFields): ShapedFields => {
  if (dialect === 'entity') return { fields, problems: {} };
  const shaped: NodeFields = {};
  const problems: Record<string, string[]> = {};
  for (const [field, value] of Object.entries(fields)) {
    const shape = Object.hasOwn(formShapes, field) ? formShapes[field] : undefined;
    const items = shape === undefined ? null : itemsOf(value);
    const report = (problem: string) => {
      problems[field] = [...(problems[field] ?? []), problem];
    };
    const own = shape === undefined || items === null ? value : shape(items, report);
    if (problems[field]) continue;
    shaped[field] = shape === undefined && isEmpty(value) ? emptied(field) : own;
  }
  return { fields: shaped, problems };
};

/**
 * What has to go along with every update of a node through its editing form, unless it is among the changes: the file,
 * which is removed or refused otherwise, and the period, whose date is refused without its time. In form shape.
 */
export const echoedFields = (node: PortalNode, changes: NodeFields): NodeFields => {
  const echoed: NodeFields = {};
  const file = itemsOf(node.field_upload)?.[0];
  if (file?.fid !== undefined && !('field_upload' in changes)) {
    const flag = (name: string): number => (file[name] === null || file[name] === undefined ? 1 : Number(file[name]));
    const view = { grid: flag('grid'), graph: flag('graph'), map: flag('map') };
    const delimiter = typeof file.delimiter === 'string' ? file.delimiter : ',';
    echoed.field_upload = { und: [{ fid: String(file.fid), view, embed: flag('embed'), delimiter }] };
  }
  const period = itemsOf(node.field_temporal_coverage)?.filter(
    ({ value }) => typeof value === 'string' && value !== '',
  );
  if (period && period.length > 0 && !('field_temporal_coverage' in changes)) {
    echoed.field_temporal_coverage = periods(period, () => undefined);
  }
  return echoed;
};

/** True for fields that the two dialects write differently; errors about these reveal the dialect. */
const isShapedField = (field: string): boolean => Object.hasOwn(formShapes, field);

type Report = (problem: string) => void;
type Shape = (items: Item[], report: Report) => unknown;

const firstValue = (items: Item[]): string | null => {
  const value = items[0]?.value;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
};

/** Select lists take ids only, and no endpoint gives the id of a name. */
const tids: Shape = (items, report) => ({
  und: items.map((item) => {
    const tid = textOf(item, 'tid', report);
    if (!/^\d+$/.test(tid))
      report(
        `this older portal accepts topics by number only: set \`terms: {topics: {${nameOf(item)}: N}}\` of this portal`,
      );
    return tid;
  }),
});

const nameOf = ({ name }: Item): string => (typeof name === 'string' ? name : 'NAME');

const values: Shape = (items, report) => ({ und: items.map((item) => textOf(item, 'value', report)) });

/** Only the nid in the last brackets counts, the title may be anything (recorded behaviour 9). */
const references: Shape = (items, report) => ({
  und: (items.length === 0 ? [{ target_id: '' }] : items).map((item) => {
    const target = textOf(item, 'target_id', report);
    return { target_id: /^\d+$/.test(target) ? `node (${target})` : target };
  }),
});

/** A select list of node ids. */
const groups: Shape = (items, report) => ({ und: items.map((item) => textOf(item, 'target_id', report)) });

/** A select list that also offers own text; an emptied one falls back to the portal's default. */
const license: Shape = (items) => {
  const value = firstValue(items) ?? 'notspecified';
  return { und: licenses.has(value) ? { select: value } : { select: 'select_or_other', other: value } };
};

const frequency: Shape = (items, report) => {
  const value = firstValue(items);
  if (value === null) return { und: '_none' };
  const number = /^(?:1[0-8]|\d)$/.test(value) ? value : frequencies[value]?.toString();
  if (number === undefined) {
    report(`"${value}" has no number on this older portal; it knows ${Object.keys(frequencies).join(' ')}`);
  }
  return { und: { value: number } };
};

const accessLevel: Shape = (items) => ({ und: { value: firstValue(items) ?? 'public' } });

/** Terms go by name; the form makes those that do not exist. */
const terms: Shape = (items, report) => ({
  und: {
    textfield: '',
    value_field: items.map((item) => `""${textOf(item, 'name', report).replaceAll('"', '')}""`).join(' '),
  },
});

/** What an editing form makes of fields that it takes, by name. */
export const changedByForm = ({ field_tags: tags }: NodeFields): Record<string, string[]> => {
  const isSplit = (itemsOf(tags) ?? []).some(({ name }) => typeof name === 'string' && /[,"]/.test(name));
  return isSplit ? { field_tags: ['the portal splits tags that contain a comma or quotes'] } : {};
};

/** The date widget takes day and time apart, the day as in the United States. */
const periods: Shape = (items, report) => ({
  und: items.map((item) => {
    const value = dayAndTime(textOf(item, 'value', report));
    const end = typeof item.value2 === 'string' ? dayAndTime(item.value2) : value;
    return { value, value2: end, show_todate: 1 };
  }),
});

const dayAndTime = (text: string): { date: string; time: string } => {
  const [day = '', time = '00:00:00'] = text.split(/[T ]/);
  const [year = '', month = '', date = ''] = day.split('-');
  return { date: `${month}/${date}/${year}`, time: time.length === 5 ? `${time}:00` : time.slice(0, 8) };
};

/** The form leaves a field alone that has no items; an item without content empties it (recorded behaviour 8a, 9). */
const emptied = (field: string): unknown => ({ und: [linkFields.has(field) ? { url: '', title: '' } : { value: '' }] });

const linkFields = new Set(['field_landing_page', 'field_conforms_to', 'field_related_content', 'field_link_api']);

/** The form-shape of every field that differs (recorded behaviour 8a, recording `form_input_create`). */
const formShapes: Record<string, Shape> = {
  field_license: license,
  field_frequency: frequency,
  field_public_access_level: accessLevel,
  field_tags: terms,
  field_format: terms,
  field_topic: tids,
  field_language: values,
  field_resources: references,
  field_dataset_ref: references,
  og_group_ref: groups,
  field_temporal_coverage: periods,
};

const licenses = new Set(
  `cc-by cc-by-sa cc-zero cc-nc gfdl notspecified odc-by odc-odbl odc-pddl other-at other-nc other-closed other-open
   other-pd uk-ogl`.split(/\s+/),
);

/** ISO 8601 intervals to the numbers of the older option list (recorded behaviour 8a, 15). */
const frequencies: Record<string, number> = {
  'R/P1D': 0,
  'R/P1W': 1,
  'R/P1M': 2,
  'R/P1Y': 3,
  'R/PT1S': 4,
  irregular: 5,
  'R/P10Y': 6,
  'R/P4Y': 7,
  'R/P2M': 8,
  'R/P3.5D': 9,
  'R/P0.5W': 9,
  'R/P2W': 10,
  'R/P6M': 11,
  'R/P2Y': 12,
  'R/P3Y': 13,
  'R/P0.33W': 14,
  'R/P0.33M': 15,
  'R/P3M': 16,
  'R/P4M': 17,
  'R/P0.5M': 18,
};

/** The items of a field in entity shape; null for a value that is written in another way already. */
const itemsOf = (value: unknown): Item[] | null => {
  if (Array.isArray(value)) return value.length === 0 ? [] : null;
  if (typeof value !== 'object' || value === null || !('und' in value) || !Array.isArray(value.und)) return null;
  const items: unknown[] = value.und;
  return items.every((item): item is Item => typeof item === 'object' && item !== null) ? items : null;
};

const isEmpty = (value: unknown): boolean => itemsOf(value)?.length === 0;

const textOf = (item: Item, property: string, report: Report): string => {
  const value = item[property];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  report(`an item has no "${property}", which this older portal's editing form needs`);
  return '';
};

/** What the choice is made with. */
interface DialectParts {
  /** What is configured. */
  set: 'auto' | Dialect;
  traits: Traits;
  caller: Caller;
  hasDatastore: (signal: AbortSignal) => Promise<boolean>;
}

/** The dialect of one portal, and how certain it is. */
export class DialectChoice {
  readonly #parts: DialectParts;
  /** Dialect of writes until a reply proves it. */
  #guess: Dialect | null = null;
  /** The uuids sent with creates that have not been read back, by nid. */
  readonly #created = new Map<string, string>();

  constructor(parts: DialectParts) {
    this.#parts = parts;
  }

  /** The dialect to write in; found by at most two harmless reads, once per portal. */
  async current(signal: AbortSignal): Promise<Dialect> {
    const { set, traits } = this.#parts;
    if (set !== 'auto') return set;
    const known = traits.get('dialect') ?? this.#guess;
    if (known !== null) return known;
    const found = await this.#find(signal);
    if (found.isCertain) this.#learn(found.dialect);
    else this.#guess = found.dialect;
    return found.dialect;
  }

  /** Remembers a create, so that its read-back can show whether the portal kept the uuid; the last 100 are kept. */
  noteCreate(nid: string, uuid: string): void {
    if (this.#isCertain) return;
    this.#created.set(nid, uuid);
    const oldest = this.#created.size > 100 ? this.#created.keys().next().value : undefined;
    if (oldest !== undefined) this.#created.delete(oldest);
  }

  /** An entity portal keeps the uuid of a create, a form portal makes its own and writes language `und`. */
  noteRead(node: PortalNode): void {
    const sent = this.#created.get(node.nid);
    if (sent === undefined || node.uuid === '') return;
    this.#created.delete(node.nid);
    if (node.uuid.toLowerCase() === sent.toLowerCase()) this.#learn('entity');
    else if (node.language === 'und') this.#learn('form');
  }

  /**
   * Learns from a refused write. True when the other dialect is right and nothing was done, so that the write may be
   * sent once more: only a portal that validates by its form answers `form_errors` (recorded behaviour 2, 8a).
   */
  noteRefusal(error: PortalError): boolean {
    const { set, traits } = this.#parts;
    if (set !== 'auto') return false;
    const current = traits.get('dialect') ?? this.#guess;
    if (current === 'entity' && error.request.formErrors?.some(isShapedField)) {
      this.#learn('form');
      return true;
    }
    // An entity portal takes the keys of a form shape for item numbers and fails with this (recorded behaviour 8).
    if (current === 'form' && isAnswer(error, 'form-shape')) this.#learn('entity');
    return false;
  }

  get #isCertain(): boolean {
    return this.#parts.set !== 'auto' || this.#parts.traits.get('dialect') !== undefined;
  }

  #learn(dialect: Dialect): void {
    this.#created.clear();
    this.#parts.traits.learn({ dialect });
  }

  /** Datastore endpoints came after the entity dialect (7.16.1), so they prove it; an empty language does as well. */
  async #find(signal: AbortSignal): Promise<{ dialect: Dialect; isCertain: boolean }> {
    const { caller, hasDatastore } = this.#parts;
    if (await hasDatastore(signal)) return { dialect: 'entity', isCertain: true };
    const path = `${paths.nodes}?fields=nid,language&pagesize=20`;
    const reply = await caller.call({ action: 'list nodes', method: 'GET', path }, signal);
    const rows = bodyOf(reply, nodeRowsSchema, caller.portal, 'a list of nodes');
    const isEntity = rows.some((row) => row.language === '' && 'language' in row);
    return { dialect: isEntity ? 'entity' : 'form', isCertain: isEntity };
  }
}
