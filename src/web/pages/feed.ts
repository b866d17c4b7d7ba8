// The versions of the tables of an item as a feed (Atom, RFC 4287), newest first.
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import { countsText, keptVersions, type TableVersion } from '../../model/table-history.ts';
import { html, sizeWords } from '../../util/html.ts';
import { plural } from '../../util/plural.ts';
import { itemPath } from './layout.ts';

const mostVersions = 100;

const notInXml = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

export interface FeedTable {
  entry: Pick<LedgerEntry, 'key' | 'title'>;
  /** Oldest first. */
  versions: readonly TableVersion[];
}

/** The feed of an item by its tables; `base` is the address of the pages, without a slash at its end. */
export const feedXml = (key: string, title: string, tables: readonly FeedTable[], base: string): string => {
  const all = tables.flatMap(({ entry, versions }) =>
    versions.map((version, at) => ({ entry, version, isFirst: at === 0 && versions.length < keptVersions })),
  );
  const newest = all.sort((a, b) => b.version.at - a.version.at).slice(0, mostVersions);
  const page = `${base}${itemPath(key)}`;
  const entries = newest.map(({ entry, version: { at, rows, bytes, columns, changes }, isFirst }) => {
    const address = `${base}${itemPath(entry.key)}`;
    const what = changes ? `rows ${countsText(changes)}` : isFirst ? 'first version' : 'new version';
    const size = [plural(rows, 'row'), plural(columns.length, 'column'), sizeWords(bytes)].join(', ');
    return html`<entry>
<title>${entry.title || entry.key}: ${what}</title>
<id>${address}#${at}</id>
<updated>${timeOf(at)}</updated>
<link href="${address}"/>
<summary>${size}</summary>
</entry>
`;
  });
  const { text } = html`<feed xmlns="http://www.w3.org/2005/Atom">
<title>Versions of ${title}</title>
<id>${page}</id>
<updated>${timeOf(newest[0]?.version.at ?? 0)}</updated>
<author><name>sluice</name></author>
<link rel="self" href="${base}${feedPath(key)}"/>
<link href="${page}"/>
${entries}</feed>
`;
  return `<?xml version="1.0" encoding="utf-8"?>\n${text.replaceAll(notInXml, '')}`;
};

export const feedPath = (key: string): string => itemPath(key).replace('/item/', '/changes/');

const timeOf = (at: number): string => new Date(at).toISOString();
