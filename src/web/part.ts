// What the parts of the HTTP server share: their interface, and how they compare secrets.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Overview } from '../service/overview.ts';
import type { Runtime } from '../service/runtime.ts';
import type { Guesses, Tried } from './guesses.ts';

/** What every part of the server is given. */
export interface WebContext {
  runtime: Runtime;
  /** What all parts show of items and runs. */
  overview: Overview;
  /** Every secret that a request sends is counted here. */
  guesses: Guesses;
}

/** Adds routes to a scope of its own: hooks and parsers that it registers are for these routes only. */
export type WebPart = (app: FastifyInstance, context: WebContext) => void | Promise<void>;

/** Compares two secrets in a time that does not depend on where they differ. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

/** Whether a request carries `web.token` as its bearer; a request without any is no guess. */
export const tryToken = ({ headers, ip }: FastifyRequest, { runtime, guesses }: WebContext): Tried => {
  const { token } = runtime.config.web;
  const given = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (given === undefined) return 'wrong';
  return guesses.try(isSameSecret(given, token ?? '') && token !== null, ip);
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
