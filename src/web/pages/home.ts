// The first page: what is wrong, how every manifest stands, what runs; and what a search finds.
import { movedText } from '../../model/moved.ts';
import { stepWord } from '../../model/step-words.ts';
import type { KnownEntry } from '../../service/items.ts';
import type { OverviewView, RunningJob, TargetView } from '../../service/overview.ts';
import { type Html, html, momentHtml, type Part, sizeWords } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { spanText } from '../../util/quantity.ts';
import {
  type Act,
  entriesHtml,
  hintHtml,
  itemPath,
  type Page,
  proseHtml,
  reasonHtml,
  runPath,
  tableHtml,
  webLink,
} from './layout.ts';
import { faultyHtml, manifestsHtml, summaryHtml } from './manifest-table.ts';

export const mostFound = 50;

export const homePage = (view: OverviewView, given: Parameters<typeof manifestsHtml>[1]): Page => {
  const { act, now } = given;
  return {
    title: '',
    live: [
      view.targets.length > 0 ? summaryHtml(view.targets) : null,
      view.hasWorkers
        ? null
        : html`<div class="note wait"><p>No worker is running: requested runs start with the next one.</p></div>`,
      view.pauses.map((paused) => pauseHtml(paused, act)),
      view.targets.flatMap(({ held }) => (held ? [heldHtml(held, act)] : [])),
      overdueHtml(view.late),
      view.targets.length > 1 ? faultyHtml(view.targets) : null,
      manifestsHtml(view.targets, given),
      view.jobs.length === 0 ? null : html`<h2>Running now</h2>\n${jobsHtml(view.jobs, now)}`,
      inboxesHtml(view, now),
      portalsHtml(view, act),
    ],
  };
};

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
${entriesHtml(found)}`,
});

/** A pause that a person began is no fault. */
const pauseTone = ({ reason }: OverviewView['pauses'][number]['pause']): string =>
  reason.code === 'paused' ? 'wait' : 'bad';

export const pauseHtml = (
  { portal, pause }: OverviewView['pauses'][number],
  act: Act,
): Html => html`<section class="note ${pauseTone(pause)}" aria-label="Paused portal">
<h2 class="name">Portal ${portal} has been paused since ${momentHtml(pause.since)}</h2>
${reasonHtml(pause.reason)}
<p class="row">${act('Resume', 'resume', { portal })}</p>
</section>
`;

const heldHtml = (
  { runId, manifest, portal, why }: NonNullable<TargetView['held']>,
  act: Act,
): Html => html`<section class="note wait" aria-label="Held run">
<h2 class="name">A run of ${manifest} to ${portal} is held</h2>
<p dir="auto">${proseHtml(why)}</p>
<p class="row">${act('Release', 'release', { run: runId })}${act('Discard', 'discard', { run: runId })}<a href="${runPath(runId)}">What it would do</a></p>
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

const shownJobs = 12;

export const jobsHtml = (jobs: RunningJob[], now: number): Html => html`${tableHtml(
  'Jobs',
  ['Item', 'Step', '#For'],
  jobs.slice(0, shownJobs).map((job) => jobHtml(job, now)),
)}
${jobs.length > shownJobs ? html`<p class="soft">… and ${countText(jobs.length - shownJobs)} more</p>` : null}`;

const jobHtml = (
  job: RunningJob,
  now: number,
): Html => html`<tr><td><a href="${itemPath(job.key)}">${job.key}</a> <span class="soft">(<a href="${runPath(job.runId)}">run</a>)</span></td>
<td>${stepsHtml(job, now)}</td>
<td class="n">${spanText(now - job.since)}</td></tr>
`;

export const stepsHtml = ({ key, steps }: RunningJob, now: number): Part =>
  steps.length === 0
    ? html`<span class="soft">between two steps</span>`
    : steps.map((step) => stepHtml(step, key, now));

/** What a step does to which item of the dataset, and how far it is. */
const stepHtml = ({ item, step, moved }: RunningJob['steps'][number], key: string, now: number): Html => {
  const of =
    item === '' || item === key ? null : html` <span class="soft">${item.slice(item.lastIndexOf('/') + 1)}</span>`;
  const bar = moved?.of && html` <progress max="${moved.of}" value="${moved.bytes}" aria-label="Bytes"></progress>`;
  return html`<div>${stepWord(step)}${of}${moved && html`${bar || null} <span class="soft">${movedText(moved, now)}</span>`}</div>`;
};

const portalsHtml = ({ portals, pauses }: OverviewView, act: Act): Html => html`<h2>Portals</h2>
<ul class="cards portals">
${portals.map(({ name: portal, url }) => {
  const paused = pauses.find((pause) => pause.portal === portal);
  const badge = paused ? html`<span class="badge ${pauseTone(paused.pause)}">paused</span>` : null;
  return html`<li><span>${url ? webLink(url, portal) : portal} ${badge}</span> <span class="row">${paused ? act('Resume', 'resume', { portal }) : act('Pause', 'pause', { portal })}</span></li>
`;
})}</ul>`;

const shownFiles = 10;

const inboxesHtml = ({ inboxes }: OverviewView, now: number): Part => {
  if (inboxes.length === 0) return null;
  const busy = inboxes.filter(({ settling, left, spooled }) => settling.length + left.length + spooled > 0);
  return html`<h2>Inboxes</h2>
<ul class="cards">
${busy.map(
  ({ manifest, folder, settling, left, spooled, cancelled }) => html`<li>
<h3>${manifest} <span class="soft"><bdi>${folder}</bdi></span></h3>
${spooled > cancelled ? html`<p>${plural(spooled - cancelled, 'file')} in progress</p>` : null}
${cancelled === 0 ? null : html`<p>${plural(cancelled, 'file')} not published because the run was cancelled: run the manifest now, or drop them again.</p>`}
${filesHtml(settling.map(({ path, bytes, since }) => html`<bdi>${path}</bdi>, ${sizeWords(bytes)}, waiting for ${spanText(now - since)} until it is complete`))}
${filesHtml(left.map(({ path, reason }) => html`<bdi>${path}</bdi> is ignored: <span dir="auto">${reason}</span>`))}
</li>
`,
)}</ul>
${foldedHtml(inboxes.filter((view) => !busy.includes(view)).map(({ manifest, folder }) => html`<li>${manifest} <bdi>${folder}</bdi>: empty</li>\n`))}`;
};

const foldedHtml = (empty: Html[]): Part => {
  if (empty.length === 0) return null;
  const list = html`<ul class="soft">${empty}</ul>`;
  return empty.length <= 5
    ? list
    : html`<details id="inboxes"><summary>${countText(empty.length)} are empty</summary>${list}</details>`;
};

const filesHtml = (files: Html[]): Part =>
  files.length === 0
    ? null
    : html`<ul class="soft">${files.slice(0, shownFiles).map((file) => html`<li>${file}</li>`)}${files.length > shownFiles ? html`<li>… and ${countText(files.length - shownFiles)} more</li>` : null}</ul>`;
