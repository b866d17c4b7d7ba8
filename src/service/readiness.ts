// Readiness of the service: Redis answers, portals answer, inboxes can be written.

import { errorMessage } from '../model/errors.ts';
import { isUsable, readInboxViews } from './inboxes.ts';
import type { Runtime } from './runtime.ts';

/** One thing that publishing needs. */
interface ReadyCheck {
  /** `redis`, `portal city` or `inbox /data/in`. */
  name: string;
  /** Null: it is ready. */
  reason: string | null;
}

/** Milliseconds one check may take, and how long the answer of a portal serves: a probe every second must not burden it. */
const [checkMs, portalMs] = [3000, 15_000];

/** Checks everything at once, in some seconds at most. */
export class Readiness {
  readonly #runtime: Runtime;
  readonly #portals = new Map<string, { at: number; reason: Promise<string | null> }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** All checks, in a fixed order. */
  async check(): Promise<ReadyCheck[]> {
    const { redis, config } = this.#runtime;
    const inTime = async (name: string, work: Promise<string | null>): Promise<ReadyCheck> => ({
      name,
      reason: await bounded(work),
    });
    const portals = Object.keys(config.portals).map((portal) => inTime(`portal ${portal}`, this.#portal(portal)));
    // Which inboxes there are is known to Redis; without it nothing is ready anyway.
    const inboxes = withDeadline(readInboxViews(this.#runtime))
      .catch(() => [])
      .then((views) => Promise.all(views.map(({ folder }) => inTime(`inbox ${folder}`, writable(folder)))));
    const answers = inTime(
      'redis',
      redis.ping().then(() => null),
    );
    return [await answers, ...(await Promise.all(portals)), ...(await inboxes)];
  }

  async #portal(name: string): Promise<string | null> {
    const pause = await this.#runtime.pauses.state(name);
    if (pause) return `paused: ${pause.reason.code}`;
    const known = this.#portals.get(name);
    if (known && Date.now() - known.at < portalMs) return known.reason;
    const reason = bounded(this.#ping(name));
    this.#portals.set(name, { at: Date.now(), reason });
    return reason;
  }

  async #ping(name: string): Promise<null> {
    const portal = this.#runtime.portals.opened(name);
    if (!portal) throw new Error('it is not open yet');
    await portal.nodes.ping(AbortSignal.timeout(checkMs));
    return null;
  }
}

const writable = async (folder: string): Promise<string | null> =>
  (await isUsable(folder)) ? null : 'its folder cannot be read and written';

const bounded = (work: Promise<string | null>): Promise<string | null> => withDeadline(work).catch(errorMessage);

const withDeadline = <T>(work: Promise<T>): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${checkMs / 1000} s`)), checkMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};
