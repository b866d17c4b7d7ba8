// Checks between the body of a request and its operation.
import type { Call, Operation } from './call.ts';
import { Refusal } from './refusal.ts';
import { hasValidToken } from './resources/user.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Throws 401 when a session asks for a change without its CSRF token. `method` is the one that came over the wire. */
export const checkToken = (call: Call, operation: Operation, method: string): void => {
  if (!operation.csrf || call.session === null || safeMethods.has(method)) return;
  if (!hasValidToken(call)) throw new Refusal(401, 'CSRF validation failed');
};

/** Throws 401 for the first argument that the body lacks. */
export const checkArguments = (call: Call, operation: Operation): void => {
  for (const name of operation.requires(call)) {
    const value = Object.hasOwn(call.body, name) ? call.body[name] : undefined;
    if (value === undefined || value === null) throw new Refusal(401, `Missing required argument ${name}`);
  }
};
