// The page of a run: what became of its items, what failed for which cause, and how it is going.
import { canRetry, fateOf, fatesText, itemFates } from '../../model/ledger-entry.ts';
import { paceText, unprovenText } from '../../model/moved.ts';
import { targetOfName } from '../../model/redis-keys.ts';
import type { Cause, ReportItem } from '../../model/report.ts';
import type { RunView } from '../../service/overview.ts';
import { markOf, markWords, type RunStatus } from '../../service/run-list.ts';
import { type Html, html, momentHtml, type Part } from '../../util/html.ts';
import { countText, plural } from '../../util/plural.ts';
import { spanText } from '../../util/quantity.ts';
import { jobsHtml } from './home.ts';
import {
  type Act,
  fateTone,
  hintHtml,
  itemPath,
  keysHtml,
  noAct,
  type Page,
  proseHtml,
  reasonHtml,
  runPath,
  runsPath,
  tableHtml,
} from './layout.ts';

export const runPage = (view: RunView, { now, act }: { now: number; act: Act }): Page => {
  const { runId, target, startedAt, endedAt, reason, removals } = view;
  const isHeld = removals !== null;
  const { manifest, portal } = targetOfName(target);
  return {
    title: `Run ${runId}`,
    live: html`<h1>Run of <a href="${runsPath(target)}">${manifest}</a> to ${portal}</h1>
<p class="soft"><code>${runId}</code>${endedAt && startedAt && html`, ${momentHtml(startedAt)}, took ${spanText(endedAt - startedAt)}`}</p>
${endedAt === null ? openHtml(view, { now, act }) : tilesHtml(view)}
${reason && html`<div class="note ${isHeld || reason.code === 'cancelled' ? 'wait' : 'bad'}">${reasonHtml(reason)}${isHeld ? html`<p class="row">${act('Release', 'release', { run: runId })}${act('Discard', 'discard', { run: runId })}</p>` : null}</div>`}
${removals?.length ? html`<h2>It would remove ${plural(removals.length, 'item')}</h2>${keysHtml(removals)}` : null}
${causesHtml(view, act)}
${view.remarks.length === 0 ? null : html`<h2>Remarks</h2><ul>${view.remarks.slice(0, 50).map((remark) => html`<li dir="auto">${remark}</li>`)}</ul>`}
${
  endedAt === null || act === noAct
    ? null
    : html`<h2>Report</h2>
<p class="row">${(['csv', 'json', 'html'] as const).map((format) => html`<a class="button" href="${runPath(runId)}/report.${format}">${format.toUpperCase()}</a>`)}<a href="${runPath(runId)}/items">All items</a></p>`
}
${view.log.length === 0 ? null : html`<details id="log"><summary>Log of the run (${plural(view.log.length, 'line')})</summary><div class="log" tabindex="0" role="region" aria-label="Log">${view.log.slice(-500).join('\n')}</div></details>`}`,
  };
};

const openHtml = (
  { runId, state, done, unproven, total, failed, startedAt, jobs, pause }: RunView,
  { now, act }: { now: number; act: Act },
): Html => {
  const known = total === 0 ? 'Planning.' : `${countText(done)} of ${plural(total, 'item')}${unprovenText(unproven)}`;
  const ms = startedAt === null ? 0 : now - startedAt;
  const pace = pause ? '' : paceText({ ended: done, left: total - done, ms });
  return html`<div class="note">
<p>${state === 'queued' ? 'Waiting to start.' : known}${failed > 0 ? html`, <span class="bad">${countText(failed)} failed</span>` : null} <span class="soft">${[...(ms > 0 ? [`for ${spanText(ms)}`] : []), ...(pace ? [pace] : [])].join(', ')}</span></p>
${total > 0 ? html`<progress max="${total}" value="${done}" aria-label="Items"></progress>` : null}
${pause ? html`<p class="wait">It waits: portal ${pause} is paused.</p>` : null}
<p class="row">${act('Cancel', 'cancel', { run: runId })}</p>
</div>
${jobs.length === 0 ? null : html`<h2>Now</h2>\n${jobsHtml(jobs, now)}`}`;
};

const tilesHtml = ({ fates, reason }: RunView): Part => {
  const tiles = itemFates.flatMap((fate) => {
    const count = fates?.[fate] ?? 0;
    return count === 0 ? [] : [html`<li class="${fateTone(fate)}"><b>${countText(count)}</b> ${fate}</li>\n`];
  });
  if (tiles.length === 0) return reason ? null : html`<p>It had nothing to do.</p>`;
  return html`<ul class="tiles">\n${tiles}</ul>`;
};

const causesHtml = (view: RunView, act: Act): Part => {
  const { runId, causes, endedAt, removals } = view;
  if (causes.length === 0) return null;
  const total = causes.reduce((sum, { count }) => sum + count, 0);
  const isAgain = endedAt !== null && !removals && causes.some(({ reason }) => canRetry(reason));
  return html`<h2>${plural(total, 'item')} need${total === 1 ? 's' : ''} attention</h2>
${isAgain && causes.length > 1 ? html`<p class="row">${act('Retry all', 'retry', { run: runId })}</p>` : null}
<ul class="cards">
${causes.map((cause) => causeHtml(view, cause, endedAt === null || removals ? noAct : act))}</ul>`;
};

const causeHtml = (view: RunView, { reason, count, items }: Cause, act: Act): Html => {
  const { code, hint } = reason;
  const words = count === 1 ? 'Retry' : `Retry these ${countText(count)}`;
  return html`<li>
<h3>${plural(count, 'item')}: <code>${code}</code></h3>
${hintHtml(hint)}
<ul>
${items.map(({ key, message }) => html`<li><a href="${itemPath(key)}">${key}</a> <span class="soft" dir="auto">${proseHtml(message)}</span></li>\n`)}</ul>
<p class="row">${canRetry(reason) ? act(words, 'retry', { run: view.runId, code }) : null}${
    count > items.length && act !== noAct
      ? html`<a href="${runPath(view.runId)}/items?code=${encodeURIComponent(code)}">All ${countText(count)}</a>`
      : null
  }</p>
</li>
`;
};

export const itemsPerPage = 200;

/** Items of a closed run, those of a cause where `code` is given; `page` counts from 1. */
export const runItemsPage = (
  runId: string,
  items: ReportItem[],
  { code, page, total }: { code: string | null; page: number; total: number },
): Page => {
  const path = `${runPath(runId)}/items`;
  const more = (to: number): string =>
    `${path}?${new URLSearchParams({ ...(code === null ? {} : { code }), page: String(to) })}`;
  return {
    title: `Items of run ${runId}`,
    live: null,
    fixed: html`<h1>Items of run <a href="${runPath(runId)}">${runId}</a></h1>
<p class="soft">${plural(total, 'item')}${code && html` with <code>${code}</code>`}</p>
<ul class="cards">
${items.map(
  (item) =>
    html`<li><h2 class="name"><a href="${itemPath(item.key)}">${item.key}</a> <span class="badge ${fateTone(fateOf(item))}">${fateOf(item)}</span></h2>${item.reason && html`<p class="soft" dir="auto">${proseHtml(item.reason.message)}</p>`}</li>\n`,
)}</ul>
<nav class="row" aria-label="Pages">${page > 1 ? html`<a href="${more(page - 1)}">Before</a>` : null}${page * itemsPerPage < total ? html`<a href="${more(page + 1)}">More</a>` : null}</nav>`,
  };
};

export const runsPage = (target: string, runs: RunStatus[], act: Act): Page => ({
  title: `Runs of ${target}`,
  live: html`<h1>Runs of ${target}</h1>
<p class="row">${act('Run now', 'run-now', { target })}</p>
${
  runs.length === 0
    ? html`<p class="soft">No run of it is kept.</p>`
    : tableHtml(
        'Runs',
        ['Begun', 'How it went', 'Items', '#Took'],
        runs.map((run) => {
          const { word, tone } = markWords[markOf(run)];
          return html`<tr><td><a href="${runPath(run.runId)}">${momentHtml(run.startedAt ?? 0)}</a></td><td><span class="badge ${tone}">${word}</span> ${run.reason && html`<code>${run.reason.code}</code>`}</td>
<td>${fatesText(run)}</td><td class="n">${run.endedAt && spanText(run.endedAt - (run.startedAt ?? 0))}</td></tr>
`;
        }),
      )
}`,
});
