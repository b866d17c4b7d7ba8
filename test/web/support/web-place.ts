// The web server of a service over a Redis of its own, called without a socket.
import { chmodSync } from 'node:fs';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { configOf } from '../../../src/commands/session.ts';
import { createLog } from '../../../src/model/log.ts';
import { openRuntime, type Runtime } from '../../../src/service/runtime.ts';
import { webApp } from '../../../src/web/server.ts';
import { type CommandPlace, commandPlace } from '../../support/command-place.ts';
import { startTestRedis } from '../../support/redis.ts';

/** See the head of this file. */
export interface WebPlace {
  place: CommandPlace;
  runtime: Runtime;
  app: FastifyInstance;
  /** A GET with the Host header of loopback, unless told otherwise. */
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  send(request: InjectOptions): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

/** Opens it; `config` is merged over quick settings, `files` are secrets beside it. Close it in `afterAll`. */
export const openWebPlace = async (
  config: Record<string, unknown> = {},
  files: Record<string, string> = {},
): Promise<WebPlace> => {
  const redis = await startTestRedis();
  const env = { REDIS_URL: `unix://${'path' in redis.options ? redis.options.path : ''}` };
  const place = commandPlace(config);
  for (const [name, text] of Object.entries(files)) chmodSync(place.write(name, text), 0o600);
  const { io } = place.io({ env });
  const resolved = await configOf(place.options, io);
  const runtime = await openRuntime({
    config: resolved,
    log: createLog({ level: 'silent' }),
    env: io.env,
    role: 'start',
  });
  const app = await webApp(runtime);
  const send: WebPlace['send'] = (request) =>
    app.inject({ ...request, headers: { host: '127.0.0.1:4283', ...request.headers } });
  return {
    place,
    runtime,
    app,
    get: (url, headers = {}) => send({ method: 'GET', url, headers }),
    send,
    close: async () => {
      await app.close();
      await runtime.close();
      await redis.close();
    },
  };
};
