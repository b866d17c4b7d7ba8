// Actions of the pages: each first shows what will happen, then does it.
import { NotFoundError, UsageError } from '../../model/errors.ts';
import { targetName } from '../../model/redis-keys.ts';
import {
  cancelRun,
  discard,
  pausePortal,
  type RequestedRun,
  release,
  resumePortal,
  retry,
} from '../../service/actions.ts';
import type { Overview } from '../../service/overview.ts';
import type { KnownTarget, Runtime } from '../../service/runtime.ts';
import { html, type Part } from '../../util/html.ts';
import { plural } from '../../util/plural.ts';
import { itemPath, type Page, runPath, tokenField } from './layout.ts';

/** An action with its object, ready to be confirmed. */
interface Prepared {
  /** A question. */
  title: string;
  /** What will happen. */
  text: Part;
  /** The word on the button. */
  button: string;
  /** Label of an optional reason. */
  reason?: string;
  /** Carries it out; returns the path of the page that shows the result. */
  act(signal: AbortSignal, reason: string): Promise<string>;
}

/** What actions work with. */
export interface ActionTools {
  runtime: Runtime;
  overview: Overview;
}

type Parameters = (name: string) => string;

const firstRun = (runs: RequestedRun[]): string => (runs[0] ? runPath(runs[0].runId) : '/');

const knownTarget = async ({ overview }: ActionTools, name: string): Promise<KnownTarget> => {
  const known = (await overview.targets()).find((target) => targetName(target) === name);
  if (known) return known;
  throw new NotFoundError(`no key, file or title matches "${name}"`, {
    hint: 'the first page lists manifests and portals',
  });
};

/** The actions by their names in addresses. @throws UsageError and NotFoundError where an action is not possible */
const actions: Readonly<Record<string, (tools: ActionTools, of: Parameters) => Promise<Prepared>>> = {
  'run-now': async (tools, of) => {
    const target = await knownTarget(tools, of('target'));
    const { manifest, portal, manifestPath } = target;
    return {
      title: `Run ${manifest} now?`,
      text: html`<p>A run compares <bdi>${manifestPath}</bdi> with what is known of ${portal} and publishes what differs. Its schedule stays as it is. If a run is under way, another one follows it.</p>`,
      button: 'Run now',
      act: async () => {
        const asked = { path: manifestPath, name: manifest, portal };
        return runPath((await tools.runtime.requestRun(asked, 'command')).runId);
      },
    };
  },

  retry: async (tools, of) => {
    const { runtime } = tools;
    const [key, runId, code] = [of('key'), of('run'), of('code')];
    if (key !== '') {
      return {
        title: 'Retry this item?',
        text: html`<p>This starts a run limited to <code>${key}</code>.</p>`,
        button: 'Retry',
        act: async (signal) => firstRun(await retry(runtime, { of: key }, signal)),
      };
    }
    const target = await runtime.runs.target(runId);
    if (target === null) throw new NotFoundError(`no run "${runId}" is known`, { hint: 'it may have expired' });
    const { manifest } = target;
    const order = (await runtime.runs.report(runId))?.export;
    if (order) {
      return {
        title: 'Export again?',
        text: html`<p>This starts an export of what <bdi>${order.folder}</bdi> lacks of ${target.portal}, and of what changed there since.</p>`,
        button: 'Export',
        act: async (signal) => firstRun(await retry(runtime, { of: runId }, signal)),
      };
    }
    if (code !== '') {
      return {
        title: `Retry everything with ${code}?`,
        text: html`<p>This starts a run limited to items of ${manifest} that still fail with <code>${code}</code>.</p>`,
        button: 'Retry',
        act: async (signal) => firstRun(await retry(runtime, { manifest, code }, signal)),
      };
    }
    return {
      title: 'Retry what failed in this run?',
      text: html`<p>This starts a run of ${manifest} limited to the items that failed in run <code>${runId}</code>.</p>`,
      button: 'Retry',
      act: async (signal) => firstRun(await retry(runtime, { of: runId }, signal)),
    };
  },

  release: async (tools, of) => {
    const [runId, key] = [of('run'), of('key')];
    if (key !== '') {
      return {
        title: 'Publish the held version?',
        text: html`<p>The held version of <code>${key}</code> replaces the published one. The guard compares later versions with it.</p>`,
        button: 'Release',
        act: async (signal) => firstRun(await release(tools.runtime, key, signal)),
      };
    }
    const { manifest, portal, why, removals } = await tools.runtime.plans.heldRun(runId);
    return {
      title: 'Release the held run?',
      text: html`<p dir="auto">${why}</p>
<p>A run of ${manifest} to ${portal} makes the held changes${
        removals.length > 0
          ? html`. It takes down ${plural(removals.length, 'item')} and no others:</p>
<ul>${removals.slice(0, 20).map((removed) => html`<li><a href="${itemPath(removed)}">${removed}</a></li>`)}${removals.length > 20 ? html`<li>… and ${removals.length - 20} more</li>` : null}</ul><p>`
          : '. '
      }It also publishes other changes of the manifest.</p>`,
      button: 'Release',
      act: async (signal) => firstRun(await release(tools.runtime, runId, signal)),
    };
  },

  discard: async (tools, of) => {
    const [runId, key] = [of('run'), of('key')];
    if (key !== '') {
      return {
        title: 'Discard the held version?',
        text: html`<p>The portal keeps the published version of <code>${key}</code>. The held one is not sent again.</p>`,
        button: 'Discard',
        act: async (signal) => firstRun(await discard(tools.runtime, key, signal)),
      };
    }
    const { manifest, why } = await tools.runtime.plans.heldRun(runId);
    return {
      title: 'Discard the held run?',
      text: html`<p dir="auto">${why}</p><p>The run of ${manifest} is dropped without changes. The next run compares again.</p>`,
      button: 'Discard',
      act: async (signal) => {
        await discard(tools.runtime, runId, signal);
        return runPath(runId);
      },
    };
  },

  pause: async ({ runtime }, of) => {
    const portal = of('portal');
    runtime.portals.config(portal);
    return {
      title: `Pause portal ${portal}?`,
      text: html`<p>Running jobs finish their current step; no other job starts until the portal is resumed. Nothing is lost.</p>`,
      button: 'Pause',
      reason: 'Reason, shown on this page',
      act: async (_signal, reason) => {
        await pausePortal(runtime, portal, reason === '' ? null : reason);
        return '/';
      },
    };
  },

  resume: async ({ runtime }, of) => {
    const portal = of('portal');
    runtime.portals.config(portal);
    return {
      title: `Resume portal ${portal}?`,
      text: html`<p>Waiting jobs continue at once. If the cause of the pause persists, the portal is paused again.</p>`,
      button: 'Resume',
      act: async () => {
        await resumePortal(runtime, portal);
        return '/';
      },
    };
  },

  cancel: async ({ runtime }, of) => {
    const runId = of('run');
    if ((await runtime.runs.target(runId)) === null && (await runtime.gate.find(runId)) === null) {
      throw new NotFoundError(`no run "${runId}" is known`, { hint: 'it may have expired' });
    }
    return {
      title: 'Cancel this run?',
      text: html`<p>Running steps finish, no others start. Published items stay; the next run does the rest.</p>`,
      button: 'Cancel the run',
      act: async () => {
        await cancelRun(runtime, runId);
        return runPath(runId);
      },
    };
  },
};

/** The prepared action of a name. */
export const prepare = (tools: ActionTools, name: string, of: Parameters): Promise<Prepared> => {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) throw new UsageError(`there is no action "${name}"`, { hint: 'go back to the first page' });
  return action(tools, of);
};

/** The page that explains an action, with the button that confirms it. */
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
<p class="row"><button class="main">${button}</button><a class="button" href="${back}">Back</a></p>
</form>`,
});
