// `GET /metrics`: what Prometheus reads.
import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metrics } from '../service/metrics.ts';
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
