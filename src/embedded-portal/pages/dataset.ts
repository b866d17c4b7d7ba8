// The page of a dataset: description, facts, resources.
import { frequencies } from '../../dataset-api/values.ts';
import { type Html, html, momentHtml, type Part, sizeWords } from '../../util/html.ts';
import type { Answer } from '../answer.ts';
import { licenseName } from '../content/fields.ts';
import { textOf } from '../content/items.ts';
import type { Call } from '../portal.ts';
import { mayRead } from '../refusal.ts';
import type { LinkedRow, StoredNode } from '../store/nodes.ts';
import {
  type Fact,
  factsHtml,
  firstText,
  formattedHtml,
  itemHtml,
  itemsOf,
  linesHtml,
  linksHtml,
  nodeAnswer,
  shortened,
  termNames,
} from './layout.ts';
import { queryOf } from './list.ts';

const mostResources = 500;

const frequencyText = (value: string | null): string | null =>
  frequencies.find(({ code, form }) => code === value || (form !== null && String(form) === value))?.words[0] ?? value;

const contactHtml = (node: StoredNode): Part => {
  const name = firstText(node, 'field_contact_name');
  const mail = firstText(node, 'field_contact_email');
  if (mail === null) return name;
  const isAddress = /^[^\s@<>"]+@[^\s@<>"]+$/.test(mail);
  const link = html`<a href="mailto:${encodeURIComponent(mail).replaceAll('%40', '@')}">${mail}</a>`;
  return [name && `${name}, `, isAddress ? link : mail];
};

const termsHtml = (call: Call, node: StoredNode, field: string): Html | null => {
  const links = termNames(call, node, field).map(
    (name) => html`<li><a href="${call.baseUrl}/${queryOf({ search: name })}">${name}</a></li>`,
  );
  return links.length === 0 ? null : html`<ul class="tags">${links}</ul>`;
};

/** A stored date (`YYYY-MM-DD HH:MM:SS`, UTC) without the time where that is midnight. */
const dateText = (node: StoredNode, field: string, property?: string): string | null =>
  firstText(node, field, property)?.replace(/[T ]00:00:00$/, '') ?? null;

const periodText = (node: StoredNode): string | null => {
  const from = dateText(node, 'field_temporal_coverage');
  const to = dateText(node, 'field_temporal_coverage', 'value2');
  return from === null || to === null || to === from ? from : `${from} to ${to}`;
};

const boxText = (item: Record<string, unknown>): string | null => {
  const [west, south, east, north] = ['left', 'bottom', 'right', 'top'].map((side) => item[side]);
  if ([west, south, east, north].some((value) => value === null || value === undefined)) return null;
  return west === east && south === north
    ? `longitude ${west}, latitude ${south}`
    : `longitude ${west} to ${east}, latitude ${south} to ${north}`;
};

const placeHtml = (node: StoredNode): Part => {
  const label = firstText(node, 'field_spatial_geographical_cover');
  const boxes = itemsOf(node, 'field_spatial').flatMap((item) => boxText(item) ?? []);
  return linesHtml([...(label === null ? [] : [label]), ...boxes.slice(0, 20)]);
};

const factsOf = (call: Call, node: StoredNode): Fact[] => {
  const additional = itemsOf(node, 'field_additional_info');
  const license = firstText(node, 'field_license');
  const languages = itemsOf(node, 'field_language').flatMap(({ value }) => textOf(value) || []);
  return [
    ['License', license === null ? null : licenseName(license)],
    ['Author', firstText(node, 'field_author')],
    ['Contact', contactHtml(node)],
    ['Updated', frequencyText(firstText(node, 'field_frequency'))],
    ['Tags', termsHtml(call, node, 'field_tags')],
    ['Topics', termsHtml(call, node, 'field_topic')],
    ['Period covered', periodText(node)],
    ['Area covered', placeHtml(node)],
    ['Granularity', firstText(node, 'field_granularity')],
    ['Language', languages.join(', ')],
    ['Homepage', linksHtml(node, 'field_landing_page', call.baseUrl)],
    ['Related', linksHtml(node, 'field_related_content', call.baseUrl)],
    ['Conforms to', linksHtml(node, 'field_conforms_to', call.baseUrl)],
    ['Data dictionary', formattedHtml(node, 'field_data_dictionary')],
    ['Access level', firstText(node, 'field_public_access_level')],
    ['Rights', firstText(node, 'field_rights')],
    ...additional.map(({ first, second }): Fact => [String(first ?? ''), String(second ?? '')]),
    [
      'Changed at the source',
      dateText(node, 'field_modified_source_date') ?? dateText(node, 'field_harvest_source_modified'),
    ],
    ['Changed', momentHtml(node.changed * 1000)],
    ['Published', momentHtml(node.created * 1000)],
    ['Identifier', html`<code>${node.uuid}</code>`],
  ];
};

const resourceHtml = (row: LinkedRow, baseUrl: string): Html => {
  const { format, filename, filesize, link } = row;
  const facts = [
    format,
    filename && shortened(filename, 100),
    filesize === null ? null : sizeWords(filesize),
    link && shortened(link, 100),
  ].filter((fact) => fact !== null);
  const soft = facts.length === 0 ? null : html`<bdi>${facts.join(' · ')}</bdi>`;
  return itemHtml(row, { tag: 'h3', longest: 160, baseUrl, facts: soft });
};

const resourcesHtml = (call: Call, node: StoredNode): Html => {
  const linked = call.portal.store.nodes.linked(node.nid, mostResources + 1);
  const shown = linked.slice(0, mostResources).filter((row) => row.type === 'resource' && mayRead(call.user, row));
  if (shown.length === 0) return html`<p class="soft">This dataset has no resources.</p>`;
  const more = linked.length > mostResources;
  return html`<ul class="items">
${shown.map((row) => resourceHtml(row, call.baseUrl))}</ul>
${more ? html`<p class="soft">Only the first ${mostResources} are listed here; the API knows the others.</p>` : null}`;
};

export const datasetAnswer = (call: Call, node: StoredNode): Answer => {
  const main = html`<h2>Resources</h2>
${resourcesHtml(call, node)}
<h2>About this dataset</h2>
${factsHtml(factsOf(call, node))}`;
  return nodeAnswer(call, node, main);
};
