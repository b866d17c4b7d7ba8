// `GET /healthz`: whether the service is alive.
import type { Runtime } from '../service/runtime.ts';
import type { WebPart } from './part.ts';

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
