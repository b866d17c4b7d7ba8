// Readers of the values of catalogues that have parts: organizations, contacts, dates, periods, links.
import { titleSchema } from '../../dataset-api/metadata.ts';
import { frequencyCode } from '../../dataset-api/values.ts';
import { isObject } from '../../util/json.ts';
import type { Draft } from './draft.ts';
import { addressText, listOf, textOf, webAddressOf } from './values.ts';

/**
 * `2016`, `2016-11`, `20161115`, `2016-11-15`, `2016-11-15T14:30:48.000Z`, `11/15/2016` as `2016-11-15` or
 * `2016-11-15T14:30:48` (UTC where the text has a zone); null for anything else.
 */
export const dayOf = (text: string, edge: 'begin' | 'end' = 'begin'): string | null => {
  const plain = text.trim();
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(plain);
  if (american) return realDay(american[3], american[1], american[2]);
  const [, year, month, day, rest = ''] = /^([12]\d{3})(?:-?(\d{2})(?:-?(\d{2})(.*))?)?$/s.exec(plain) ?? [];
  if (year === undefined) return null;
  if (month === undefined) return edge === 'begin' ? `${year}-01-01` : `${year}-12-31`;
  if (day === undefined) return edge === 'begin' ? realDay(year, month, '01') : lastDay(year, month);
  const date = realDay(year, month, day);
  return date === null || rest === '' ? date : timed(date, rest);
};

const realDay = (year = '', month = '', day = ''): string | null => {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : null;
};

const lastDay = (year: string, month: string): string | null => {
  if (realDay(year, month, '01') === null) return null;
  return new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10);
};

const timed = (date: string, rest: string): string | null => {
  const [, time, zone = ''] =
    /^[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,]\d+)?\s*(Z|[+-]\d{2}:?\d{2}|[+-]\d{2})?$/i.exec(rest) ?? [];
  if (time === undefined) return null;
  const full = time.length === 5 ? `${time}:00` : time;
  const parsed = new Date(`${date}T${full}${zoneOf(zone)}`);
  return Number.isNaN(parsed.getTime()) ? null : parsed.toISOString().slice(0, 19);
};

const zoneOf = (zone: string): string => {
  if (zone === '' || zone.toUpperCase() === 'Z') return 'Z';
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  return `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
};

/** A stretch of time. */
interface Span {
  from: string;
  to?: string;
}

/** `2014-01-01/2015-01-01`, `2014/P1Y`, `2014` or `{startDate, endDate}` as a span; null for anything else. */
export const spanOf = (value: string | { startDate: string | null; endDate: string | null }): Span | null => {
  const parts = typeof value === 'string' ? value.split('/') : [value.startDate ?? '', value.endDate ?? ''];
  const [begin = '', end = ''] = parts;
  if (parts.length > 2) return null;
  const from = dayOf(begin);
  if (from === null) return null;
  if (end === '' || end === '..') {
    const last = parts.length === 1 ? dayOf(begin, 'end') : null;
    return last === null || last === from ? { from } : { from, to: last };
  }
  const to = end.startsWith('P') ? after(from, end) : dayOf(end, 'end');
  if (to === null) return null;
  return to.slice(0, 10) < from.slice(0, 10) ? null : { from, to };
};

/** The day a duration of years, months, weeks and days after another. */
const after = (from: string, duration: string): string | null => {
  const [match, years, months, weeks, days] = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?$/.exec(duration) ?? [];
  if (match === undefined || match === 'P') return null;
  const date = new Date(`${from.slice(0, 10)}T00:00:00Z`);
  date.setUTCFullYear(date.getUTCFullYear() + Number(years ?? 0), date.getUTCMonth() + Number(months ?? 0));
  date.setUTCDate(date.getUTCDate() + Number(weeks ?? 0) * 7 + Number(days ?? 0));
  return Number.isNaN(date.getTime()) ? null : date.toISOString().slice(0, 10);
};

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
  if (above.length > 0) draft.addInfo('publisher.subOrganizationOf', 'Part of', above.join(', '));
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
  if (day === null) draft.addInfo(from, name, text);
  else draft.fields[field] = { und: [{ value: `${date} ${time}` }] };
}

/** A day or time, or a rule of repetition, which says how often the data is renewed. */
export function takeModified(value: unknown, draft: Draft): void {
  const text = textOf(value) ?? '';
  const code = frequencyCode(text);
  const isRule = /^R\//.test(text);
  if (!isRule) takeDate(value, draft, { from: 'modified', field: 'field_harvest_source_modified', name: 'Modified' });
  else if (code === undefined || draft.metadata.frequency !== undefined) draft.addInfo('modified', 'Modified', text);
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
  else draft.addInfo('temporal', 'Temporal', textOf(first) ?? JSON.stringify(first));
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
