// What an HTTP server of ours does with kept connections when it is closed.
import type { FastifyInstance } from 'fastify';

/**
 * Makes `app.close()` wait for requests only. Node ends the connections that are idle when a server closes; one that
 * becomes idle a moment later, because its last answer was still going out, would be kept for fastify's 72 seconds.
 */
export const endConnectionsOnClose = (app: FastifyInstance): void => {
  app.addHook('preClose', (done) => {
    app.server.keepAliveTimeout = 1; // milliseconds; 0 means for ever
    app.server.keepAliveTimeoutBuffer = 0;
    done();
  });
};
