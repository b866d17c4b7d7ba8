// Endpoints for monitoring: `GET /healthz` and `/readyz` for probes, `GET /metrics` for Prometheus.
import { errorMessage, RedisUnreachableError } from '../model/errors.ts';
import { isUsable, readInboxViews } from '../service/inboxes.ts';
import { metricsOf } from '../service/metrics.ts';
import type { Runtime } from '../service/runtime.ts';
import { mayWatch, type WebPart } from './part.ts';

const longestMs = 5000;

/** Answers 503 when Redis is silent for five seconds. Where the pages have a password, `web.token` is needed. */
export const metricsPart: WebPart = (app, context) => {
  const { runtime, overview } = context;
  const metrics = metricsOf(runtime, overview);
  app.get('/metrics', async (request, reply) => {
    const tried = mayWatch(request, context);
    if (typeof tried === 'number') {
      reply.header('retry-after', Math.ceil(tried / 1000));
      return reply.code(429).send();
    }
    if (tried === 'wrong') {
      const text = 'Send `Authorization: Bearer TOKEN` with that of `web.token`.\n';
      return reply.code(401).header('www-authenticate', 'Bearer').type('text/plain').send(text);
    }
    const text = await withDeadline(metrics.text(), longestMs).catch(() => null);
    if (text === null) return reply.code(503).type('text/plain').send('Redis does not answer.\n');
    return reply.type(metrics.contentType).send(text);
  });
};

/** Waits for Redis for at most five seconds: without it a request can neither show nor do anything. @throws RedisUnreachableError */
export const needRedis = async ({ redis }: Runtime): Promise<void> => {
  await withDeadline(redis.echo(''), longestMs).catch((cause: unknown) => {
    const hint = 'nothing is lost: what is published stays, and the service goes on by itself once Redis answers';
    throw new RedisUnreachableError(`Redis cannot be used: ${errorMessage(cause)}`, { hint, cause });
  });
};

/** Answers 200 while Redis answers, 503 otherwise. */
export const healthPart: WebPart = (app, { runtime }) => {
  app.get('/healthz', async (_request, reply) => {
    const redis = await withDeadline(runtime.redis.ping(), 2000).catch(() => null);
    return reply.code(redis ? 200 : 503).send({ status: redis ? 'ok' : 'degraded', redis: redis ? 'ok' : 'no answer' });
  });
};

/** Answers 200 when everything is ready, 503 otherwise; the reason of each check names portals and paths, as the pages do. */
export const readyPart: WebPart = (app, context) => {
  const ready = readiness(context.runtime);
  app.get('/readyz', async (request, reply) => {
    const checks = await ready();
    const isReady = checks.every(({ reason }) => reason === null);
    const seen = Object.fromEntries(checks.map(({ name, reason }) => [name, reason ?? 'ok']));
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'not ready',
      ...(mayWatch(request, context) === 'right' ? { checks: seen } : {}),
    });
  });
};

/** Milliseconds one check may take, and how long the answer of a portal serves: a probe every second must not burden it. */
const [checkMs, portalMs] = [3000, 15_000];

/** Checks that Redis and the portals answer and that inboxes can be written, all at once, within seconds. */
const readiness = (runtime: Runtime) => {
  const pings = new Map<string, { at: number; reason: Promise<string | null> }>();
  const ping = async (name: string): Promise<null> => {
    const portal = runtime.portals.opened(name);
    if (!portal) throw new Error('it is not open yet');
    await portal.nodes.ping(AbortSignal.timeout(checkMs));
    return null;
  };
  const checkPortal = async (name: string): Promise<string | null> => {
    const pause = await runtime.pauses.state(name);
    if (pause) return `paused: ${pause.reason.code}`;
    const known = pings.get(name);
    if (known && Date.now() - known.at < portalMs) return known.reason;
    const reason = bounded(ping(name));
    pings.set(name, { at: Date.now(), reason });
    return reason;
  };
  const checkInbox = async (folder: string) =>
    (await isUsable(folder)) ? null : 'its folder cannot be read and written';
  const check = async (name: string, work: Promise<string | null>) => ({ name, reason: await bounded(work) });
  return async () => {
    const redis = runtime.redis.ping().then(() => null);
    const known = [
      check('redis', redis),
      ...Object.keys(runtime.config.portals).map((name) => check(`portal ${name}`, checkPortal(name))),
    ];
    // Which inboxes there are is known to Redis; without it nothing is ready anyway.
    const views = await withDeadline(readInboxViews(runtime)).catch(() => []);
    return Promise.all([...known, ...views.map(({ folder }) => check(`inbox ${folder}`, checkInbox(folder)))]);
  };
};

const bounded = (work: Promise<string | null>): Promise<string | null> => withDeadline(work).catch(errorMessage);

const withDeadline = <T>(work: Promise<T>, ms = checkMs): Promise<T> => {
  const { promise, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};
