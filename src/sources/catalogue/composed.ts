// Readers of the values of catalogues that have parts: organizations, contacts, dates, periods, links.
import { titleSchema } from '../../dataset-api/metadata.ts';
import { frequencyCode } from '../../dataset-api/values.ts';
import { dayOf, spanOf } from './dates.ts';
import type { Draft } from './draft.ts';
import { addressText, isObject, listOf, textOf, webAddressOf } from './values.ts';

/** The first publisher, and the organizations above it. */
export function takePublisher(value: unknown, draft: Draft): void {
  const [publisher, ...more] = listOf(value);
  const name = textOf(isObject(publisher) ? (publisher.name ?? publisher.prefLabel) : publisher);
  if (name !== null) draft.metadata.author = draft.short('publisher', name);
  else draft.remark('publisher', 'has no name');
  if (more.length > 0) draft.remark('publisher', 'only the first of several is published');
  const above: string[] = [];
  for (
    let next = isObject(publisher) ? publisher.subOrganizationOf : undefined;
    isObject(next) && above.length < 10;
  ) {
    const organization = textOf(next.name ?? next.prefLabel);
    if (organization !== null) above.push(organization);
    next = next.subOrganizationOf;
  }
  if (above.length > 0) draft.tell('publisher.subOrganizationOf', 'Part of', above.join(', '));
}

/** The first contact. */
export function takeContact(value: unknown, draft: Draft): void {
  const [contact, ...more] = listOf(value);
  const name = textOf(isObject(contact) ? (contact.fn ?? contact.name ?? contact['organization-name']) : contact);
  const email = isObject(contact) ? addressText(contact.hasEmail)?.replace(/^mailto:/i, '') : undefined;
  draft.metadata.contact = {
    ...(name === null ? {} : { name: draft.short('contactPoint.fn', name) }),
    ...(email === undefined ? {} : { email: draft.short('contactPoint.hasEmail', email) }),
  };
  if (more.length > 0) draft.remark('contactPoint', 'only the first of several is published');
}

/** A day or time into a field; what is none becomes a further fact of that name. */
export function takeDate(
  value: unknown,
  draft: Draft,
  { from, field, name }: Record<'from' | 'field' | 'name', string>,
): void {
  const text = textOf(value) ?? '';
  const day = dayOf(text);
  const [date, time = '00:00:00'] = day?.split('T') ?? [];
  if (day === null) draft.tell(from, name, text);
  else draft.fields[field] = { und: [{ value: `${date} ${time}` }] };
}

/** A day or time, or a rule of repetition, which tells how often the data is renewed. */
export function takeModified(value: unknown, draft: Draft): void {
  const text = textOf(value) ?? '';
  const code = frequencyCode(text);
  const isRule = /^R\//.test(text);
  if (!isRule) takeDate(value, draft, { from: 'modified', field: 'field_harvest_source_modified', name: 'Modified' });
  else if (code === undefined || draft.metadata.frequency !== undefined) draft.tell('modified', 'Modified', text);
  else draft.metadata.frequency = code as NonNullable<typeof draft.metadata.frequency>; // its codes are these
}

/** The first stretch of time. */
export function takeTemporal(value: unknown, draft: Draft): void {
  const [first, ...more] = listOf(value);
  const span = spanOf(
    isObject(first)
      ? {
          startDate: textOf(first.startDate ?? first['dcat:startDate']),
          endDate: textOf(first.endDate ?? first['dcat:endDate']),
        }
      : (textOf(first) ?? ''),
  );
  if (span !== null) draft.metadata.temporal = span;
  else draft.tell('temporal', 'Temporal', textOf(first) ?? JSON.stringify(first));
  if (more.length > 0) draft.remark('temporal', 'only the first of several is published');
}

/** Links to related pages. */
export function takeReferences(value: unknown, draft: Draft): void {
  const texts = typeof value === 'string' ? value.split(/[,\s]+(?=https?:)/) : listOf(value);
  const links = texts.flatMap((item) => {
    const url = webAddressOf(item);
    return url === null ? [] : [{ title: titleOf(item, url, draft), url }];
  });
  if (links.length < texts.length) draft.remark('references', 'not an address');
  if (links.length > 0) draft.metadata.relatedContent = links;
}

const titleOf = (item: unknown, url: string, draft: Draft): string => {
  const title = isObject(item) ? textOf(item.title) : null;
  if (title !== null) return draft.short('references', title);
  return titleSchema.safeParse(url).success ? url : new URL(url).hostname;
};
