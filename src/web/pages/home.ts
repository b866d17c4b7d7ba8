// The first page: what is live by manifest, what runs, what waits for somebody; and what a search finds.
import { itemStateOf, stateWords } from '../../model/item-state.ts';
import { movedText } from '../../model/moved.ts';
import { targetName } from '../../model/redis-keys.ts';
import { fileNameOf, type KnownEntry } from '../../service/items.ts';
import type { OverviewView, RunningJob, TargetView } from '../../service/overview.ts';
import { markOf, markWords, type RunStatus } from '../../service/run-list.ts';
import { type Html, html, momentHtml, type Part, sizeWords } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { spanText } from '../../util/quantity.ts';
import {
  actLink,
  hintHtml,
  itemPath,
  type Page,
  proseHtml,
  reasonHtml,
  runPath,
  stateBadge,
  tableHtml,
} from './layout.ts';

export const mostFound = 50;

export const homePage = (view: OverviewView, now: number): Page => ({
  title: '',
  live: [
    view.hasWorkers
      ? null
      : html`<div class="note wait"><p>No worker is running: requested runs start with the next one.</p></div>`,
    view.pauses.map(pauseHtml),
    view.targets.flatMap(({ held }) => (held ? [heldHtml(held)] : [])),
    overdueHtml(view.late),
    manifestsHtml(view.targets, now),
    jobsHtml(view.jobs, now),
    inboxesHtml(view, now),
    portalsHtml(view),
  ],
});

export const searchPage = (query: string, found: KnownEntry[]): Page => ({
  title: `Search: ${query}`,
  query,
  live: html`<h1>Search</h1>
<p class="soft" role="status">${
    found.length === 0
      ? html`Nothing is known of <bdi>${query}</bdi>.`
      : found.length === mostFound
        ? `The first ${mostFound} items; another word narrows it down.`
        : plural(found.length, 'item')
  }</p>
<ul class="cards">
${found.map(
  (entry) => html`<li>
<h2 class="name"><a href="${itemPath(entry.key)}"><bdi>${entry.title || entry.key}</bdi></a> ${stateBadge(itemStateOf(entry))}</h2>
<p class="soft"><code>${entry.key}</code> on ${entry.portal}${fileNameOf(entry) && html` · <bdi>${fileNameOf(entry)}</bdi>`}</p>
</li>
`,
)}</ul>`,
});

const pauseHtml = ({
  portal,
  pause,
}: OverviewView['pauses'][number]): Html => html`<section class="note bad" aria-label="Paused portal">
<h2 class="name">Portal ${portal} is paused since ${momentHtml(pause.since)}</h2>
${reasonHtml(pause.reason)}
<p class="row">${actLink('Resume', 'resume', { portal })}</p>
</section>
`;

const heldHtml = ({
  runId,
  manifest,
  portal,
  why,
}: NonNullable<TargetView['held']>): Html => html`<section class="note wait" aria-label="Held run">
<h2 class="name">A run of ${manifest} to ${portal} is held</h2>
<p dir="auto">${proseHtml(why)}</p>
<p class="row">${actLink('Release', 'release', { run: runId })}${actLink('Discard', 'discard', { run: runId })}<a href="${runPath(runId)}">What it would do</a></p>
</section>
`;

const overdueHtml = ({ overdue, more }: OverviewView['late']): Part =>
  overdue.length === 0
    ? null
    : html`<section class="note bad" aria-label="Overdue">
<h2 class="name">Overdue</h2>
<ul>${overdue.map(
        ({ key, why, hint }) =>
          html`<li dir="auto">${proseHtml(why)}${key && html` (<a href="${itemPath(key)}">item</a>)`}${hintHtml(hint)}</li>\n`,
      )}</ul>
${more > 0 ? html`<p>… and ${countText(more)} more: <code>sluice status --json</code></p>` : null}
</section>
`;

const manifestsHtml = (targets: TargetView[], now: number): Part => {
  if (targets.length === 0) {
    return html`<h1>Manifests</h1>
<p>Nothing was published yet. Put a manifest into a folder that <code>manifests:</code> of the configuration names, or type <code>sluice publish</code>.</p>`;
  }
  const isSeveral = new Set(targets.map(({ portal }) => portal)).size > 1;
  return html`<h1>Manifests</h1>
<ul class="cards">
${targets.map((target) => targetHtml(target, { isSeveral, now }))}</ul>`;
};

const targetHtml = (target: TargetView, { isSeveral, now }: { isSeveral: boolean; now: number }): Html => {
  const { manifest, portal, runs, current } = target;
  const name = targetName(target);
  const path = `/runs/${encodeURIComponent(name)}`;
  return html`<li class="target">
<h2 class="name"><a href="${path}">${manifest}</a>${isSeveral ? html` <span class="soft">to ${portal}</span>` : null}</h2>
<p>${sentenceHtml(target, now)}</p>
${runs.length === 0 ? null : html`<a class="strip" href="${path}" aria-label="${stripLabel(runs)}">${stripSvg(runs)}</a>`}
<div class="row">${current === null ? actLink('Run now', 'run-now', { target: name }) : progressHtml(current, now)}</div>
</li>
`;
};

/** `412 of 415 live, 2 quarantined, 1 held, next run 03:15`. */
const sentenceHtml = ({ counts, next, runs, current }: TargetView, now: number): Part => {
  const { live = 0, removed = 0, ...others } = counts;
  const rest = Object.entries(stateWords).flatMap(([state, [word, tone]]) => {
    const count = others[state as keyof typeof others] ?? 0; // the two above are in neither
    return count === 0 ? [] : [{ word, tone, count }];
  });
  const total = rest.reduce((sum, { count }) => sum + count, live);
  const isNew = runs.length === 0 && current === null;
  const none = isNew ? 'never run' : 'nothing published';
  const some = live === total ? `all ${countText(total)} live` : `${countText(live)} of ${countText(total)} live`;
  return [
    total === 0 ? none : some,
    rest.map(({ word, tone, count }) => html`, <span class="${tone}">${countText(count)} ${word}</span>`),
    removed > 0 ? html`, <span class="soft">${countText(removed)} removed</span>` : null,
    next && html`, next run ${nextHtml(next, now)}`,
  ];
};

const nextHtml = ({ at, timezone }: NonNullable<TargetView['next']>, now: number): Html => {
  const isSoon = at - now < 24 * 3600 * 1000;
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    ...(isSoon ? {} : { dateStyle: 'short' }),
    timeStyle: 'short',
  }).format(at);
  return html`<time datetime="${new Date(at).toISOString()}">${text}${timezone === 'UTC' ? ' UTC' : null}</time>`;
};

const progressHtml = (
  { runId, total, done, failed, startedAt }: NonNullable<TargetView['current']>,
  now: number,
): Html => html`<a href="${runPath(runId)}">Run in progress</a>
<progress max="${Math.max(1, total)}" value="${done}" aria-label="${done} of ${total} items"></progress>
<span class="soft">${countText(done)} of ${countText(total)}${failed > 0 ? html`, <span class="bad">${countText(failed)} failed</span>` : null}${startedAt && `, ${spanText(now - startedAt)}`}</span>`;

const stripLabel = (runs: RunStatus[]): string => {
  const marks = Map.groupBy(runs, markOf);
  const parts = (['failed', 'held', 'running'] as const).flatMap((mark) => {
    const count = marks.get(mark)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${markWords[mark].word}`];
  });
  return `The last ${plural(runs.length, 'run')}: ${parts.join(', ') || 'all fine'}`;
};

/** Oldest left; what went wrong is taller, too, for who does not see colours. */
const stripSvg = (runs: RunStatus[]): Html => {
  const bar = (at: number, height: number, tone: string): Html =>
    html`<rect class="${tone}" x="${at * 8}" y="${28 - height}" width="6" height="${height}" rx="1.5"/>`;
  const empty = Array.from({ length: 30 - runs.length }, (_, at) => bar(at, 3, 'none'));
  const bars = runs.toReversed().map((run, at) => {
    const { height, bar: tone } = markWords[markOf(run)];
    return bar(empty.length + at, height, tone);
  });
  return html`<svg viewBox="0 0 238 28" aria-hidden="true">${empty}${bars}</svg>`;
};

const shownJobs = 12;

const jobsHtml = (jobs: RunningJob[], now: number): Part =>
  jobs.length === 0
    ? html`<h2>Running now</h2>\n<p class="soft">Nothing.</p>`
    : html`<h2>Running now</h2>
${tableHtml(
  'Jobs',
  ['Job', 'Step', '#For'],
  jobs.slice(0, shownJobs).map((job) => jobHtml(job, now)),
)}
${jobs.length > shownJobs ? html`<p class="soft">… and ${countText(jobs.length - shownJobs)} more</p>` : null}`;

const jobHtml = (
  { key, kind, runId, steps, since }: RunningJob,
  now: number,
): Html => html`<tr><td><a href="${itemPath(key)}">${key}</a> <span class="soft">${kind}, <a href="${runPath(runId)}">run</a></span></td>
<td>${steps.length === 0 ? html`<span class="soft">between two steps</span>` : steps.map(({ item, step, moved }, index) => html`${index > 0 ? html`<br>` : null}${step}${item === '' || item === key ? null : html` <span class="soft">${item.slice(item.lastIndexOf('/') + 1)}</span>`}${moved && html` <span class="soft">${movedText(moved, now)}</span>`}`)}</td>
<td class="n">${spanText(now - since)}</td></tr>
`;

const portalsHtml = ({ portals, pauses }: OverviewView): Html => html`<h2>Portals</h2>
<ul class="cards portals">
${portals.map((portal) => {
  const isPaused = pauses.some((pause) => pause.portal === portal);
  return html`<li><span>${portal} <span class="badge ${isPaused ? 'bad' : 'good'}">${isPaused ? 'paused' : 'in use'}</span></span> <span class="row">${isPaused ? actLink('Resume', 'resume', { portal }) : actLink('Pause', 'pause', { portal })}</span></li>
`;
})}</ul>`;

/** A view that is older was left behind by a service that has ended. */
const staleMs = 10_000;
const shownFiles = 10;

const inboxesHtml = ({ inboxes }: OverviewView, now: number): Part => {
  const watched = inboxes.filter(({ at }) => now - at < staleMs);
  if (watched.length === 0) return null;
  return html`<h2>Inboxes</h2>
<ul class="cards">
${watched.map(
  ({ manifest, folder, settling, left, spooled, cancelled }) => html`<li>
<h3>${manifest} <span class="soft"><bdi>${folder}</bdi></span></h3>
<p>${settling.length === 0 && spooled === 0 && left.length === 0 ? 'empty' : `${countText(settling.length)} settling, ${countText(spooled - cancelled)} in progress, ${countText(left.length)} ignored`}</p>
${cancelled === 0 ? null : html`<p>${plural(cancelled, 'file')} not published because the run was cancelled: run the manifest now, or drop them again.</p>`}
${filesHtml(settling.map(({ path, bytes, since }) => html`<bdi>${path}</bdi>, ${sizeWords(bytes)}, settling for ${spanText(now - since)}`))}
${filesHtml(left.map(({ path, reason }) => html`<bdi>${path}</bdi>: <span dir="auto">${reason}</span>`))}
</li>
`,
)}</ul>`;
};

const filesHtml = (files: Html[]): Part =>
  files.length === 0
    ? null
    : html`<ul class="soft">${files.slice(0, shownFiles).map((file) => html`<li>${file}</li>`)}${files.length > shownFiles ? html`<li>… and ${countText(files.length - shownFiles)} more</li>` : null}</ul>`;
