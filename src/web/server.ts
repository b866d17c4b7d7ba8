// The one HTTP server of the service: its parts, a file each, on one address.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { isLoopback, urlHost } from '../config/addresses.ts';
import { UsageError } from '../model/errors.ts';
import type { KnownTarget } from '../model/redis-keys.ts';
import { overviewOf } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';
import { limitConnections, serverOptions } from '../util/connections.ts';
import { makeFolder } from '../util/files.ts';
import { endConnectionsOnClose } from '../util/http.ts';
import { healthPart, metricsPart, readyPart } from './monitoring.ts';
import { pagesPart } from './pages/pages.ts';
import { Guesses, type WebContext, type WebPart } from './part.ts';
import { runsPart } from './runs.ts';

const parts: readonly WebPart[] = [healthPart, readyPart, metricsPart, runsPart, pagesPart];

/** Connections at once of one address and in all: the files of the work need descriptors, too. */
const [mostPerAddress, mostConnections] = [128, 256];

/** File in the state folder that holds the address of the health check while the service runs. */
export const healthFile = (stateDir: string): string => join(stateDir, 'health.address');

/** The server with all its parts, not listening yet. `served`: what the service serves. */
export const webApp = async (runtime: Runtime, served?: () => readonly KnownTarget[]): Promise<FastifyInstance> => {
  const context: WebContext = { runtime, overview: overviewOf(runtime, served), guesses: new Guesses() };
  const { log, config } = runtime;
  const app = fastify({ ...serverOptions(config.web.trustedProxies), bodyLimit: 64 * 1024, requestTimeout: 30_000 });
  endConnectionsOnClose(app);
  limitConnections(app.server, mostPerAddress, config.web.trustedProxies);
  app.server.maxConnections = mostConnections;
  app.server.on('error', (error) => {
    if (app.server.listening) log.warn({ err: error.message }, 'a connection could not be accepted');
  });
  if (isLoopback(config.web.host)) refuseForeignHosts(app, config.web.publicUrl);
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('Not found.\n'));
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) log.error({ err: error, path: request.url.slice(0, 200) }, 'a request failed');
    const text = status >= 500 ? 'Something went wrong.' : error.message;
    return reply.code(status).type('text/plain').send(`${text}\n`);
  });
  for (const part of parts) await app.register(async (scope) => part(scope, context));
  return app;
};

/** Listens where `web` of the configuration says; UsageError where it cannot. `url` has no slash at its end. */
export const serveWeb = async (runtime: Runtime, served?: () => readonly KnownTarget[]) => {
  const { stateDir, web } = runtime.config;
  const app = await webApp(runtime, served);
  // With a Redis and portals elsewhere nothing else needs the state folder.
  await makeFolder(stateDir, 0o700);
  const url = await listen(app, web);
  await writeFile(healthFile(stateDir), `${url}/healthz\n`);
  return {
    url,
    close: async () => {
      await rm(healthFile(stateDir), { force: true });
      await app.close();
    },
  };
};

const listen = async (app: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> => {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another program uses that port, such as a second `sluice start`' : message;
    throw new UsageError(`the web server of the service cannot listen on ${host}:${port}: ${why}`, {
      hint: 'set `web.port` in the configuration: each service of a host needs a port of its own, 0 picks a free one',
      cause,
    });
  }
  const address = app.server.address();
  return `http://${urlHost(host)}:${address !== null && typeof address === 'object' ? address.port : port}`;
};

/**
 * On loopback the address itself is what keeps others out. A page elsewhere could have its name resolved to 127.0.0.1 and
 * so be allowed to read answers: only requests for loopback names and its public name are served. Programs without a Host header are no browsers.
 */
const refuseForeignHosts = (app: FastifyInstance, publicUrl: string | null): void => {
  const ownHost = publicUrl === null ? null : new URL(publicUrl).host;
  app.addHook('onRequest', async (request, reply) => {
    const { host } = request.headers;
    if (host === undefined || host === ownHost || isLoopback(host.replace(/:\d+$/, ''))) return;
    const text = 'This server answers to localhost and to the host of `web.publicUrl` only.\n';
    return reply.code(421).type('text/plain').send(text);
  });
};
