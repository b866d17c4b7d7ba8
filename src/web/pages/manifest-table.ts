// The manifests on the first page, a row each: how it stands, what is live, the next run, the last ones; and a filter.
import { type ItemState, stateWords } from '../../model/ledger-entry.ts';
import { unprovenText } from '../../model/moved.ts';
import { targetName } from '../../model/redis-keys.ts';
import type { TargetView } from '../../service/overview.ts';
import { markOf, markWords, type RunStatus } from '../../service/run-list.ts';
import { type Html, html, type Part } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { spanText } from '../../util/quantity.ts';
import { type Act, noAct, runPath, runsPath } from './layout.ts';

/** What the first page is asked to show; `word` of names, `show` one of {@link shownStates}. */
type Filter = { word: string; show: string };

/** How many items of a target are in a state that is not as it should be, by word and tone. */
const faultsOf = ({ counts }: TargetView) =>
  Object.entries(stateWords).flatMap(([state, [word, tone]]) => {
    const count = tone === 'bad' || tone === 'wait' ? (counts[state as ItemState] ?? 0) : 0;
    return count === 0 ? [] : [{ word, tone, count }];
  });

/** True for a target whose last run failed as a whole: no item tells of that. */
const hasFailed = ({ current, runs: [last], held }: TargetView): boolean =>
  current === null && held === null && last !== undefined && last.reason !== null && markOf(last) === 'failed';

const needsAttention = (target: TargetView): boolean =>
  target.held !== null || hasFailed(target) || faultsOf(target).length > 0;

const shownStates: ReadonlyMap<string, [label: string, isShown: (target: TargetView) => boolean]> = new Map([
  ['', ['All', () => true]],
  ['attention', ['Need attention', needsAttention]],
  ['running', ['Running', ({ current }) => current !== null]],
]);

const isSeveral = (targets: TargetView[]): boolean => new Set(targets.map(({ portal }) => portal)).size > 1;

const totalOf = ({ counts: { removed: _removed, ...there } }: TargetView): number =>
  Object.values(there).reduce((sum, count) => sum + count, 0);

/** `40 manifests, 1,203 of 1,210 items live, 3 need attention, 1 running`. */
export const summaryHtml = (targets: TargetView[]): Html => {
  const live = targets.reduce((sum, { counts }) => sum + (counts.live ?? 0), 0);
  const total = targets.reduce((sum, target) => sum + totalOf(target), 0);
  const faulty = targets.filter(needsAttention).length;
  const running = targets.filter(({ current }) => current).length;
  return html`<p class="summary">${plural(targets.length, 'manifest')}, ${live === total ? html`<span class="good">all ${plural(live, 'item')} live</span>` : `${countText(live)} of ${plural(total, 'item')} live`}${faulty > 0 ? html`, <span class="bad">${countText(faulty)} ${faulty === 1 ? 'needs' : 'need'} attention</span>` : null}${running > 0 ? `, ${countText(running)} running` : null}</p>`;
};

/** Manifests with faults in a line each, for the top of the page. */
export const faultyHtml = (targets: TargetView[]): Part => {
  const faulty = targets.filter((target) => hasFailed(target) || faultsOf(target).length > 0);
  if (faulty.length === 0) return null;
  const isBad = faulty.some((target) => hasFailed(target) || faultsOf(target).some(({ tone }) => tone === 'bad'));
  return html`<section class="note ${isBad ? 'bad' : 'wait'}" aria-label="Manifests with faults">
<h2 class="name">${plural(faulty.length, 'manifest')} ${faulty.length === 1 ? 'needs' : 'need'} attention</h2>
<ul>${faulty.slice(0, mostFaulty).map((target) => html`<li>${nameHtml(target, isSeveral(targets))}: ${stateHtml(target, 0)}</li>\n`)}</ul>
${faulty.length > mostFaulty ? html`<p><a href="/?show=attention">All ${countText(faulty.length)}</a></p>` : null}
</section>
`;
};

const mostFaulty = 5;
const fewManifests = 5;

/** The table, with its filter where somebody may act: a form is for them. */
export const manifestsHtml = (
  targets: TargetView[],
  { now, act, filter: { word, show } }: { now: number; act: Act; filter: Filter },
): Part => {
  if (targets.length === 0) {
    return html`<h1>Manifests</h1>
<p>Nothing was published yet. Put a manifest into a folder that <code>manifests:</code> of the configuration names, or type <code>sluice publish</code>.</p>`;
  }
  const [, isShown] = shownStates.get(show) ?? ['', () => true];
  const isMeant = (target: TargetView): boolean =>
    isShown(target) && targetName(target).toLowerCase().includes(word.toLowerCase());
  const shown = targets.filter(isMeant);
  return html`<h1>Manifests</h1>
${targets.length > fewManifests ? filterHtml(targets, { word, show }, act) : null}
${shown.length === 0 ? html`<p class="soft" role="status">No manifest is like that.</p>` : tableHtml(shown, { now, act, isSeveral: isSeveral(targets) })}`;
};

const filterHtml = (targets: TargetView[], { word, show }: Filter, act: Act): Html => {
  const links = [...shownStates].flatMap(([name, [label, isShown]]) => {
    const count = targets.filter(isShown).length;
    if (count === 0 && name !== show) return [];
    const query = new URLSearchParams({ ...(name ? { show: name } : {}), ...(word ? { manifest: word } : {}) });
    const current = name === show ? html` aria-current="true"` : null;
    return [html`<a class="chip" href="/?${String(query)}"${current}>${label} ${countText(count)}</a>`];
  });
  const field =
    act === noAct
      ? null
      : html`<form action="/" method="get">
${show && html`<input type="hidden" name="show" value="${show}">`}
<input type="search" name="manifest" id="manifest" value="${word}" aria-label="Name of a manifest" placeholder="Filter manifests" maxlength="100">
<button>Filter</button>
</form>`;
  return html`<nav class="filter" aria-label="Filter">${links}${field}</nav>`;
};

const tableHtml = (
  targets: TargetView[],
  { now, act, isSeveral }: { now: number; act: Act; isSeveral: boolean },
): Html => html`<table class="manifests">
<thead><tr><th scope="col">Manifest</th><th scope="col">State</th><th scope="col" class="n">Live</th><th scope="col">Next run</th><th scope="col">Last 30 runs</th>${act === noAct ? null : html`<th scope="col"><span class="hidden">Actions</span></th>`}</tr></thead>
<tbody>
${targets.map((target) => rowHtml(target, { now, act, isSeveral }))}</tbody>
</table>
<p class="soft legend">Runs, the newest right: ${Object.values(markWords).map(
  ({ word, bar, height }) =>
    html`<span><svg class="strip" viewBox="0 0 6 28" aria-hidden="true">${barSvg(0, height, bar)}</svg> ${word}</span> `,
)}</p>`;

const rowHtml = (target: TargetView, { now, act, isSeveral }: { now: number; act: Act; isSeveral: boolean }): Html => {
  const { runs, next, counts, current } = target;
  const name = targetName(target);
  const total = totalOf(target);
  const last =
    runs.length === 0 ? null : html`<a href="${runsPath(name)}" aria-label="${stripLabel(runs)}">${stripSvg(runs)}</a>`;
  const begins = current
    ? act('Cancel the run', 'cancel', { run: current.runId })
    : act('Run now', 'run-now', { target: name });
  return html`<tr><th scope="row">${nameHtml(target, isSeveral)}</th><td>${stateHtml(target, now)}</td><td class="n">${total > 0 ? `${countText(counts.live ?? 0)} of ${countText(total)}` : null}</td><td>${next && nextHtml(next, now)}</td><td>${last}</td>${act === noAct ? null : html`<td><details class="menu" name="menu" id="menu-${name}"><summary aria-label="Actions for ${name}">⋯</summary><div>${begins}<a class="button" href="${runsPath(name)}">All runs</a></div></details></td>`}</tr>
`;
};

const nameHtml = (target: TargetView, isSeveral: boolean): Html =>
  html`<a href="${runsPath(targetName(target))}">${target.manifest}</a>${isSeveral ? html` <span class="soft">to ${target.portal}</span>` : null}`;

/** What runs, what is wrong, or that all is well. */
const stateHtml = (target: TargetView, now: number): Part => {
  const { counts, runs, current, held } = target;
  const [last] = runs;
  const parts: Part[] = [
    ...(current ? [progressHtml(current, now)] : []),
    ...(held ? [html`<a class="wait" href="${runPath(held.runId)}">run held</a>`] : []),
    ...(last && hasFailed(target) ? [html`<a class="bad" href="${runPath(last.runId)}">last run failed</a>`] : []),
    ...faultsOf(target).map(({ word, tone, count }) => html`<span class="${tone}">${countText(count)} ${word}</span>`),
  ];
  if (parts.length > 0) return parts.map((part, at) => (at > 0 ? [', ', part] : part));
  if (totalOf(target) > 0)
    return html`<span class="good">${counts.draft || counts.pending ? 'in order' : 'all live'}</span>`;
  const none = runs.length === 0 ? 'never run' : 'nothing published';
  return html`<span class="soft">${counts.removed ? `${countText(counts.removed)} removed` : none}</span>`;
};

const progressHtml = (
  { runId, total, done, unproven, failed, startedAt }: NonNullable<TargetView['current']>,
  now: number,
): Html =>
  html`<a href="${runPath(runId)}">${total === 0 ? 'planning' : `${countText(done)} of ${countText(total)}${unprovenText(unproven)}`}</a>${total === 0 ? null : html` <progress max="${total}" value="${done}" aria-label="Items"></progress>`}${failed > 0 ? html` <span class="bad">${countText(failed)} failed</span>` : null}${startedAt && html` <span class="soft">${spanText(now - startedAt)}</span>`}`;

const nextHtml = ({ at, timezone }: NonNullable<TargetView['next']>, now: number): Html => {
  const isSoon = at - now < 24 * 3600 * 1000;
  const text = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    ...(isSoon ? {} : { dateStyle: 'short' }),
    timeStyle: 'short',
  }).format(at);
  return html`<time datetime="${new Date(at).toISOString()}">${text}${timezone === 'UTC' ? ' UTC' : null}</time>`;
};

const stripLabel = (runs: RunStatus[]): string => {
  const marks = Map.groupBy(runs, markOf);
  const parts = (['failed', 'held', 'cancelled', 'running'] as const).flatMap((mark) => {
    const count = marks.get(mark)?.length ?? 0;
    return count === 0 ? [] : [`${count} ${markWords[mark].word}`];
  });
  return `The last ${plural(runs.length, 'run')}: ${parts.join(', ') || 'all fine'}`;
};

const barSvg = (at: number, height: number, tone: string): Html =>
  html`<rect class="${tone}" x="${at * 8}" y="${28 - height}" width="6" height="${height}" rx="1.5"/>`;

/** Oldest left; what went wrong is taller, too, for who does not see colours. */
const stripSvg = (runs: RunStatus[]): Html => {
  const empty = Array.from({ length: 30 - runs.length }, (_, at) => barSvg(at, 3, 'none'));
  const bars = runs.toReversed().map((run, at) => {
    const { height, bar: tone } = markWords[markOf(run)];
    return barSvg(empty.length + at, height, tone);
  });
  return html`<svg class="strip" viewBox="0 0 238 28" aria-hidden="true">${empty}${bars}</svg>`;
};
