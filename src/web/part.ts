// What the parts of the HTTP server share: their interface, and how they compare secrets.
import { createHash, timingSafeEqual } from 'node:crypto';
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

/** Compares two secrets in a time that does not depend on where they differ. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
