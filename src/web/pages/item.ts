// The page of an item: live or not and why, what to do, how it came to be, its versions.
import { kindOfKey, parentKey } from '../../model/key.ts';
import {
  canRetry,
  isGuarded,
  itemStateOf,
  type LedgerEntry,
  stateWords,
  warningsOf,
} from '../../model/ledger-entry.ts';
import { targetName } from '../../model/redis-keys.ts';
import { stepLine } from '../../model/step-words.ts';
import { changesText, countsText, type RowChanges, type TableVersion } from '../../model/table-history.ts';
import type { ItemView, KnownEntry } from '../../service/items.ts';
import type { OverviewView, RunningJob } from '../../service/overview.ts';
import { type Html, html, momentHtml, type Part, sizeWords } from '../../util/html.ts';
import { plotHtml, ticksOf } from '../../util/plot.ts';
import { countText, plural } from '../../util/plural.ts';
import { spanText } from '../../util/quantity.ts';
import { feedPath } from './feed.ts';
import { pauseHtml, stepsHtml } from './home.ts';
import {
  type Act,
  entriesHtml,
  itemPath,
  type Page,
  proseHtml,
  reasonHtml,
  runPath,
  runsPath,
  stateBadge,
  tableHtml,
  webLink,
} from './layout.ts';

const shown = 60;

/** Rows of each version as bars over an axis; two versions are a sentence. */
const versionsChart = (all: TableVersion[]): Part => {
  const versions = all.slice(-shown);
  const [first, last] = [versions[0], versions.at(-1)];
  if (!first || !last || versions.length < 2) return null;
  const label = `${plural(versions.length, 'version')} from ${dayOf(first)} to ${dayOf(last)}: ${countText(first.rows)} to ${countText(last.rows)} rows`;
  if (versions.length === 2) return html`<p>${label}</p>`;
  const ticks = ticksOf([0, 4, ...versions.map(({ rows }) => rows)]); // 4: in whole rows
  const width = 1000 / versions.length;
  const bars = versions.map((version, at) => {
    const height = Math.max(1, (version.rows * 100) / (ticks[0] ?? 1));
    const tip = `${dayOf(version)}: ${plural(version.rows, 'row')}, ${sizeWords(version.bytes)}, ${plural(version.columns.length, 'column')}`;
    return html`<rect x="${(at + 0.1) * width}" y="${100 - height}" width="${width * 0.8}" height="${height}" class="${version === last ? 'now' : ''}"><title>${tip}</title></rect>\n`;
  });
  return html`<figure><figcaption class="soft">Rows of each version</figcaption>
${plotHtml(label, ticks, [dayOf(first), dayOf(last)], bars)}</figure>`;
};

const dayOf = ({ at }: TableVersion): string => new Date(at).toISOString().slice(0, 10);

export const mostResources = 200;

interface Given {
  jobs: RunningJob[];
  pauses: OverviewView['pauses'];
  now: number;
  /** Of a dataset, on all its portals. */
  resources: KnownEntry[];
  newer?: { why: string } | null;
  act: Act;
}

export const itemPage = (key: string, views: ItemView[], given: Given): Page => {
  const kind = kindOfKey(key);
  const title = views.find(({ entry }) => entry.title !== '')?.entry.title ?? key;
  return {
    title,
    live: html`<h1 dir="auto">${title}</h1>
<p class="soft">${kind === 'dataset' ? 'Dataset' : html`Resource of <a href="${itemPath(parentKey(key))}">${parentKey(key)}</a>,`} <code>${key}</code></p>
${given.newer ? html`<p class="note wait" dir="auto">A newer version: ${given.newer.why}</p>` : null}
${views.map((view) => viewHtml(view, given, views.length > 1))}`,
  };
};

const viewHtml = (view: ItemView, { act, now, ...given }: Given, isSeveral: boolean): Html => {
  const { target, entry, versions, log } = view;
  const resources = given.resources.filter(({ portal }) => portal === target.portal);
  const jobs = given.jobs.filter(({ portal }) => portal === target.portal);
  const pauses = given.pauses.filter(({ portal }) => portal === target.portal);
  return html`<section aria-label="On ${target.portal}">
${isSeveral ? html`<h2>On ${target.portal}</h2>` : null}
${pauses.map((paused) => pauseHtml(paused, act))}
${verdictHtml(view, act)}
${jobs.map((job) => html`<div class="note"><p>In progress for ${spanText(now - job.since)} <span class="soft">(<a href="${runPath(job.runId)}">run</a>)</span></p>${stepsHtml(job, now)}</div>`)}
${factsHtml(view)}
${resources.length === 0 ? null : resourcesHtml(resources)}
${changesHtml(entry, target.portal)}
${versionsHtml(entry.key, versions)}
${timelineHtml(entry.key, target.portal, log)}
</section>
`;
};

const verdictHtml = ({ entry, target: { portal }, isRunning }: ItemView, act: Act): Html => {
  const state = itemStateOf(entry);
  const [, tone, meaning] = stateWords[state];
  const isGuardedTable = isGuarded(entry);
  const guarded = entry.refused
    ? 'A guard holds the new version; the portal serves the previous one.'
    : 'No new data arrived in time.';
  const { key, reason, syncedAt, stale } = entry;
  const actions = isGuardedTable ? ['Release', 'Discard'] : reason && canRetry(reason) ? ['Retry'] : [];
  return html`<div class="note ${tone}">
<p>${stateBadge(state)} ${isGuardedTable ? guarded : isRunning && (state === 'pending' || state === 'draft') ? 'A run is publishing it for the first time.' : meaning}${state === 'removed' ? ` (${entry.removed})` : null}${syncedAt > 0 ? html` <span class="soft">As of ${momentHtml(syncedAt)}.</span>` : null}</p>
${stale && !isGuardedTable ? html`<p>The portal still serves the version before.</p>` : null}
${reason && reasonHtml(reason)}
${warningsOf(entry).map((warning) => html`<p dir="auto">Warning: ${warning}</p>`)}
<p class="row">${actions.map((name) => act(name, name.toLowerCase(), { key, portal }))}</p>
</div>`;
};

const factsHtml = ({ entry, target, runId, isRunning, comesFrom }: ItemView): Html => {
  const { url, file, rows, identifier, fixes, rejected } = entry;
  const lost = rejected?.path === null ? 'left out' : `set aside in ${rejected?.path}`;
  const facts: Record<string, Part> = {
    'Public address': url && webLink(url),
    File: file && html`<bdi>${file.name}</bdi>, ${sizeWords(file.bytes)}`,
    Rows: rows === null ? null : countText(rows),
    'Comes from': comesFrom && webLink(comesFrom),
    Identifier: identifier && html`<bdi>${identifier}</bdi>`,
    Fixed: fixes.length === 0 ? null : fixes.map((line, index) => html`${index > 0 ? html`<br>` : null}${line}`),
    'Bad rows': rejected && `${countText(rejected.rows)} ${lost}`,
    Manifest: html`<a href="${runsPath(targetName(target))}">${target.manifest}</a> to ${target.portal}`,
    [isRunning ? 'Current run' : 'Last run']: runId === '' ? null : html`<a href="${runPath(runId)}">${runId}</a>`,
  };
  const rowsHtml = Object.entries(facts).map(
    ([name, value]) => value !== null && html`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`,
  );
  return html`<table class="facts"><tbody>\n${rowsHtml.filter((row) => row !== false)}</tbody></table>`;
};

const resourcesHtml = (resources: KnownEntry[]): Html => html`<h2>Resources</h2>
${entriesHtml(resources)}
${resources.length === mostResources ? html`<p class="soft">The first ${mostResources}; search for others.</p>` : null}`;

/** What changed in a table, as a diff that people read; of a held version what would change. */
const changesHtml = (entry: LedgerEntry, portal: string): Part => {
  const { changes } = entry;
  if (changes === null) return null;
  const { examples } = changes;
  const kinds = [
    ['changed', changedHtml(examples.changed)],
    ['added', rowsHtml(examples.added, 'ins')],
    ['removed', rowsHtml(examples.removed, 'del')],
  ] as const;
  const parts = kinds.map(([what, table]) => {
    const [count, shown] = [changes[what], examples[what].length];
    const most = shown < count ? `, the first ${countText(shown)} of them` : null;
    const summary = html`<summary>${plural(count, 'row')} ${what}${most}</summary>`;
    return count === 0 ? null : html`<details id="rows-${what}-${portal}" open>${summary}${table}</details>\n`;
  });
  return html`<section class="diff" aria-label="Row changes"><h2>${isGuarded(entry) ? 'What would change' : 'What changed'}</h2>
<p>Rows <bdi>${changesText(changes)}</bdi></p>
${parts}</section>`;
};

type Examples = RowChanges['examples'];

const changedHtml = (rows: Examples['changed']): Html => {
  const lines = rows.flatMap(({ key, cells }) =>
    cells.map(({ column, old, new: now }, at) => {
      const name = key.map(({ value }) => value).join(', ');
      const row = at === 0 ? html`<th scope="rowgroup" rowspan="${cells.length}"><bdi>${name}</bdi></th>` : null;
      return html`<tr>${row}<td><bdi>${column}</bdi></td><td><del><bdi>${old}</bdi></del></td><td><ins><bdi>${now}</bdi></ins></td></tr>\n`;
    }),
  );
  const key = rows[0]?.key.map(({ column }) => column).join(', ') ?? 'Row';
  return tableHtml('Changed rows', [key, 'Column', 'Before', 'Now'], lines);
};

const rowsHtml = (rows: Examples['added'], mark: 'ins' | 'del'): Html => {
  const cellHtml = (value: string): Html =>
    mark === 'ins' ? html`<ins><bdi>${value}</bdi></ins>` : html`<del><bdi>${value}</bdi></del>`;
  const lines = rows.map((cells) => html`<tr>${cells.map(({ value }) => html`<td>${cellHtml(value)}</td>`)}</tr>\n`);
  const columns = rows[0]?.map(({ column }) => column) ?? [];
  return tableHtml(mark === 'ins' ? 'Added rows' : 'Removed rows', columns, lines);
};

const shownVersions = 5;

const versionsHtml = (key: string, versions: TableVersion[]): Part => {
  if (versions.length === 0) return null;
  const newest = versions.toReversed();
  const more = newest.slice(shownVersions);
  return html`<h2>Versions</h2>
${versionsChart(versions)}
${versionTable(newest.slice(0, shownVersions), 'Versions')}
${more.length === 0 ? null : html`<details id="versions"><summary>${plural(more.length, 'earlier version')}</summary>${versionTable(more, 'Earlier versions')}</details>`}
<p><a href="${feedPath(key)}" type="application/atom+xml">Feed of the versions</a></p>`;
};

const versionTable = (versions: TableVersion[], label: string): Html =>
  tableHtml(
    label,
    ['Live since', '#Rows', 'Rows changed', '#Size', '#Columns'],
    versions.map(
      ({ at, rows, bytes, columns, changes }) =>
        html`<tr><td>${momentHtml(at)}</td><td class="n">${countText(rows)}</td><td>${changes ? countsText(changes) : null}</td><td class="n">${sizeWords(bytes)}</td><td class="n">${countText(columns.length)}</td></tr>\n`,
    ),
  );

const shownLines = 60;

const timelineHtml = (key: string, portal: string, log: string[]): Part => {
  if (log.length === 0) return null;
  const steps = log.map((line) => stepHtml(stepLine(line, key)));
  const earlier = steps.slice(0, -shownLines);
  return html`<h2>Steps</h2>
${earlier.length === 0 ? null : html`<details id="log-${portal}-${key}"><summary>${plural(earlier.length, 'earlier step')}</summary><ol class="timeline">\n${earlier}</ol></details>`}
<ol class="timeline">
${steps.slice(-shownLines)}</ol>`;
};

const stepHtml = ({ at, step, text, ms }: ReturnType<typeof stepLine>): Html => {
  const took = ms === null ? null : `, ${ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`}`;
  return html`<li class="${toneOf(text, ms)}"><b>${step}</b>${proseHtml(text)} <span class="soft"><time datetime="${at}">${at.slice(11, 19)}</time>${took}</span></li>\n`;
};

/** How a step ended, by the words in which logs say so; a note is neutral. */
const toneOf = (text: string, ms: number | null): string => {
  if (/: failed, |^failed for good/.test(text)) return 'bad';
  if (/: (?:held|stale): |^(?:held|cancelled)/.test(text)) return 'wait';
  return ms === null ? 'told' : '';
};
