// The health check of the service, on loopback.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fastify } from 'fastify';
import type { Runtime } from '../runtime.ts';

/** A listening health check. */
export interface Health {
  url: string;
  close(): Promise<void>;
}

/** File in the state folder that holds the address of the health check while the service runs. */
export const healthFile = (stateDir: string): string => join(stateDir, 'health.address');

/** Listens on loopback: `GET /healthz` answers 200 while Redis answers, 503 otherwise. */
export const serveHealth = async (runtime: Runtime): Promise<Health> => {
  const app = fastify({ logger: false });
  app.get('/healthz', async (_request, reply) => {
    const redis = await answersInTime(runtime);
    return reply.code(redis ? 200 : 503).send({ status: redis ? 'ok' : 'degraded', redis: redis ? 'ok' : 'no answer' });
  });
  const url = await app.listen({ host: '127.0.0.1', port: runtime.config.health.port });
  await writeFile(healthFile(runtime.config.stateDir), `${url}/healthz\n`);
  return {
    url,
    close: async () => {
      await rm(healthFile(runtime.config.stateDir), { force: true });
      await app.close();
    },
  };
};

const answersInTime = async (runtime: Runtime): Promise<boolean> => {
  const late = new Promise<false>((resolve) => {
    setTimeout(() => resolve(false), 2000).unref();
  });
  return Promise.race([runtime.redis.ping().then(() => true), late]).catch(() => false);
};
