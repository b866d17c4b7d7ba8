// Actions of the pages: each first shows what will happen, then does it.
import { NotFoundError, UsageError } from '../../model/errors.ts';
import * as service from '../../service/actions.ts';
import { html, type Part } from '../../util/html.ts';
import { plural } from '../../util/plural.ts';
import type { WebContext } from '../part.ts';
import { keysHtml, type Page, runPath, tokenField } from './layout.ts';

interface Prepared {
  title: string;
  text: Part;
  /** The word on the button, where it is not the name of the action. */
  button?: string;
  /** What is asked for a reason; none without. */
  reason?: string;
  /** Carries it out; returns the path of the page that shows the result. */
  act(signal: AbortSignal, reason: string): Promise<string>;
}

export type ActionTools = Pick<WebContext, 'runtime' | 'overview'>;

type Parameters = (name: string) => string;

const firstRun = ([run]: service.RequestedRun[]): string => (run ? runPath(run.runId) : '/');

const noRun = (runId: string): NotFoundError =>
  new NotFoundError(`no run "${runId}" is known`, { hint: 'it may have expired' });

const portalOf = ({ runtime }: ActionTools, of: Parameters): string => runtime.portals.config(of('portal')).name;

/** The actions by their names in addresses. @throws UsageError and NotFoundError where an action is not possible */
const actions: Readonly<Record<string, (tools: ActionTools, of: Parameters) => Promise<Prepared>>> = {
  'run-now': async ({ runtime, overview }, of) => {
    const name = of('target');
    const known = (await overview.targets()).get(name);
    if (!known) {
      const hint = 'the first page lists manifests and portals';
      throw new NotFoundError(`no key, file or title matches "${name}"`, { hint });
    }
    const { manifest, portal, manifestPath } = known;
    return {
      title: `Run ${manifest} now?`,
      text: html`<p>A run compares <bdi>${manifestPath}</bdi> with what is known of ${portal} and publishes what differs. Its schedule stays as it is. If a run is under way, another one follows it.</p>`,
      act: async () => runPath((await runtime.requestRun(known, 'command')).runId),
    };
  },

  retry: async ({ runtime }, of) => {
    const again = (title: string, text: Part, what: service.Retried): Prepared => ({
      title,
      text: html`<p>This starts ${text}.</p>`,
      act: async (signal) => firstRun(await service.retry(runtime, what, signal)),
    });
    const [key, runId, code] = [of('key'), of('run'), of('code')];
    if (key !== '') return again('Retry this item?', html`a run limited to <code>${key}</code>`, { of: key });
    const target = await runtime.runs.target(runId);
    if (target === null) throw noRun(runId);
    const { manifest, portal } = target;
    const order = (await runtime.runs.report(runId))?.export;
    if (order) {
      const text = html`an export of what <bdi>${order.folder}</bdi> lacks of ${portal}, and of what changed there since`;
      return { ...again('Export again?', text, { of: runId }), button: 'Export' };
    }
    if (code !== '') {
      const text = html`a run limited to items of ${manifest} that still fail with <code>${code}</code>`;
      return again(`Retry everything with ${code}?`, text, { manifest, code });
    }
    const text = html`a run of ${manifest} limited to the items that failed in run <code>${runId}</code>`;
    return again('Retry what failed in this run?', text, { of: runId });
  },

  release: async ({ runtime }, of) => {
    const [runId, key] = [of('run'), of('key')];
    const act: Prepared['act'] = async (signal) => firstRun(await service.release(runtime, key || runId, signal));
    if (key !== '') {
      const text = html`<p>The held version of <code>${key}</code> replaces the published one. The guard compares later versions with it.</p>`;
      return { title: 'Publish the held version?', text, act };
    }
    const { manifest, portal, why, removals } = await runtime.plans.heldRun(runId);
    const removal = html`. It removes ${plural(removals.length, 'item')} and no others:</p>\n${keysHtml(removals)}<p>`;
    return {
      title: 'Release the held run?',
      text: html`<p dir="auto">${why}</p>
<p>A run of ${manifest} to ${portal} makes the held changes${removals.length > 0 ? removal : '. '}It also publishes other changes of the manifest.</p>`,
      act,
    };
  },

  discard: async ({ runtime }, of) => {
    const [runId, key] = [of('run'), of('key')];
    const act: Prepared['act'] = async (signal) => {
      const runs = await service.discard(runtime, key || runId, signal);
      return key === '' ? runPath(runId) : firstRun(runs);
    };
    if (key !== '') {
      const text = html`<p>The portal keeps the published version of <code>${key}</code>. The held one is not sent again.</p>`;
      return { title: 'Discard the held version?', text, act };
    }
    const { manifest, why } = await runtime.plans.heldRun(runId);
    const text = html`<p dir="auto">${why}</p><p>The run of ${manifest} is dropped without changes. The next run compares again.</p>`;
    return { title: 'Discard the held run?', text, act };
  },

  pause: async (tools, of) => ({
    title: `Pause portal ${portalOf(tools, of)}?`,
    text: html`<p>Running jobs finish their current step; no other job starts until the portal is resumed. Nothing is lost.</p>`,
    reason: 'Reason, shown on this page',
    act: async (_signal, reason) => {
      await service.pausePortal(tools.runtime, of('portal'), reason || null);
      return '/';
    },
  }),

  resume: async (tools, of) => ({
    title: `Resume portal ${portalOf(tools, of)}?`,
    text: html`<p>Waiting jobs continue at once. If the cause of the pause persists, the portal is paused again.</p>`,
    act: async () => {
      await service.resumePortal(tools.runtime, of('portal'));
      return '/';
    },
  }),

  cancel: async ({ runtime }, of) => {
    const runId = of('run');
    if ((await runtime.runs.target(runId)) === null && (await runtime.gate.find(runId)) === null) throw noRun(runId);
    return {
      title: 'Cancel this run?',
      text: html`<p>Running steps finish, no others start. Published items stay; the next run does the rest.</p>`,
      button: 'Cancel the run',
      act: async () => {
        await service.cancelRun(runtime, runId);
        return runPath(runId);
      },
    };
  },
};

export const prepare = async (tools: ActionTools, name: string, of: Parameters): Promise<Prepared> => {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) throw new UsageError(`there is no action "${name}"`, { hint: 'go back to the first page' });
  return { button: `${name.charAt(0).toUpperCase()}${name.slice(1).replace('-', ' ')}`, ...(await action(tools, of)) };
};

export const confirmPage = (
  { title, text, button, reason }: Prepared,
  { address, token, back }: { address: string; token: string; back: string },
): Page => ({
  title,
  live: null,
  fixed: html`<h1>${title}</h1>
${text}
<form action="${address}" method="post">
${tokenField(token)}
${reason === undefined ? null : html`<p><label for="reason">${reason}</label><br><input id="reason" name="reason" maxlength="200" size="40"></p>`}
<p class="row"><button class="main">${button ?? null}</button><a class="button" href="${back}">Back</a></p>
</form>`,
});
