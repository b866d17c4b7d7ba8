// Endpoints for monitoring: `GET /healthz` and `/readyz` for probes, `GET /metrics` for Prometheus.
import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from '../service/metrics.ts';
import { Readiness } from '../service/readiness.ts';
import type { Runtime } from '../service/runtime.ts';
import type { WebPart } from './part.ts';

const longestMs = 5000;

/** Answers 503 when Redis is silent for five seconds. Where the pages have a password, `web.token` or that password is needed. */
export const metricsPart: WebPart = (app, { runtime, overview }) => {
  const metrics = new Metrics(runtime, overview);
  const { username, password, token } = runtime.config.web;
  const accepted = [
    ...(password === null ? [] : [`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`]),
    ...(token === null ? [] : [`Bearer ${token}`]),
  ].map(digest);
  app.get('/metrics', async (request, reply) => {
    const given = digest(request.headers.authorization ?? '');
    if (password !== null && !accepted.some((each) => timingSafeEqual(each, given))) {
      return reply.code(401).header('www-authenticate', 'Basic realm="sluice"').send();
    }
    const text = await Promise.race([metrics.text(), sleep(longestMs, null)]).catch(() => null);
    if (text === null) return reply.code(503).type('text/plain').send('Redis does not answer.\n');
    return reply.type(metrics.contentType).send(text);
  });
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Answers 200 while Redis answers, 503 otherwise. */
export const healthPart: WebPart = (app, { runtime }) => {
  app.get('/healthz', async (_request, reply) => {
    const redis = await answersInTime(runtime);
    return reply.code(redis ? 200 : 503).send({ status: redis ? 'ok' : 'degraded', redis: redis ? 'ok' : 'no answer' });
  });
};

const answersInTime = async (runtime: Runtime): Promise<boolean> => {
  const late = new Promise<false>((resolve) => {
    setTimeout(() => resolve(false), 2000).unref();
  });
  return Promise.race([runtime.redis.ping().then(() => true), late]).catch(() => false);
};

/** Answers 200 when everything is ready, 503 otherwise, with the reason of each check. */
export const readyPart: WebPart = (app, { runtime }) => {
  const readiness = new Readiness(runtime);
  app.get('/readyz', async (_request, reply) => {
    const checks = await readiness.check();
    const isReady = checks.every(({ reason }) => reason === null);
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'not ready',
      checks: Object.fromEntries(checks.map(({ name, reason }) => [name, reason ?? 'ok'])),
    });
  });
};
