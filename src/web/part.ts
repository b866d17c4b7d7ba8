// What the parts of the HTTP server share: their interface, and the token of programs.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Overview } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';
import { clientAddress } from '../util/connections.ts';
import { isSameSecret } from '../util/secrets.ts';
import type { Guesses, Tried } from './guesses.ts';

export interface WebContext {
  runtime: Runtime;
  overview: Overview;
  /** Every secret that a request sends is counted here. */
  guesses: Guesses;
}

/** Adds routes to a scope of its own: hooks and parsers that it registers are for these routes only. */
export type WebPart = (app: FastifyInstance, context: WebContext) => void | Promise<void>;

/** Whether a request carries `web.token` as its bearer; a request without any is no guess. */
export const tryToken = (request: FastifyRequest, { runtime, guesses }: WebContext): Tried => {
  const { token } = runtime.config.web;
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (given === undefined) return 'wrong';
  return guesses.try(isSameSecret(given, token ?? '') && token !== null, clientAddress(request));
};

/** Whether a program may see what the pages show; where these have no password, all may. */
export const mayWatch = (request: FastifyRequest, context: WebContext): Tried =>
  context.runtime.config.web.password === null ? 'right' : tryToken(request, context);
