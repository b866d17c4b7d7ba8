// The interface of the parts of the HTTP server.
import type { FastifyInstance } from 'fastify';
import type { Overview } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';

/** What every part of the server is given. */
export interface WebContext {
  runtime: Runtime;
  /** What all parts show of items and runs. */
  overview: Overview;
}

/** Adds routes to a scope of its own: hooks and parsers that it registers are for these routes only. */
export type WebPart = (app: FastifyInstance, context: WebContext) => void | Promise<void>;
