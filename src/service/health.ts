// The health check of the service, on loopback.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { UsageError } from '../model/errors.ts';
import { endConnectionsOnClose } from '../util/http-closing.ts';
import type { Runtime } from './runtime.ts';

/** A listening health check. */
export interface Health {
  url: string;
  close(): Promise<void>;
}

/** File in the state folder that holds the address of the health check while the service runs. */
export const healthFile = (stateDir: string): string => join(stateDir, 'health.address');

/** Listens on loopback (UsageError when it cannot): `GET /healthz` answers 200 while Redis answers, 503 otherwise. */
export const serveHealth = async (runtime: Runtime): Promise<Health> => {
  const app = fastify({ logger: false });
  endConnectionsOnClose(app);
  app.get('/healthz', async (_request, reply) => {
    const redis = await answersInTime(runtime);
    return reply.code(redis ? 200 : 503).send({ status: redis ? 'ok' : 'degraded', redis: redis ? 'ok' : 'no answer' });
  });
  const { stateDir, health } = runtime.config;
  // With a Redis and portals elsewhere nothing else needs the state folder.
  await mkdir(stateDir, { recursive: true });
  const url = await listen(app, health.port);
  await writeFile(healthFile(stateDir), `${url}/healthz\n`);
  return {
    url,
    close: async () => {
      await rm(healthFile(runtime.config.stateDir), { force: true });
      await app.close();
    },
  };
};

const listen = async (app: FastifyInstance, port: number): Promise<string> => {
  try {
    return await app.listen({ host: '127.0.0.1', port });
  } catch (cause) {
    throw new UsageError(`the health check cannot listen on 127.0.0.1:${port}: ${(cause as Error).message}`, {
      hint: 'set health.port in the configuration to a free port, or to 0 to take any',
      cause,
    });
  }
};

const answersInTime = async (runtime: Runtime): Promise<boolean> => {
  const late = new Promise<false>((resolve) => {
    setTimeout(() => resolve(false), 2000).unref();
  });
  return Promise.race([runtime.redis.ping().then(() => true), late]).catch(() => false);
};
