// `GET /readyz`: whether the service can publish, and what is missing.
import { Readiness } from '../service/readiness.ts';
import type { WebPart } from './part.ts';

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
