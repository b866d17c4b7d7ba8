// The resources of a profile, the operation that a request means, and the checks before it runs (recorded behaviour 1).
import { isSameSecret } from '../../util/secrets.ts';
import type { Call, Operation, Portal, Profile, Resource } from '../portal.ts';
import { Refusal } from '../refusal.ts';

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** The resources that exist, by name: those that `expose` names, all without one; `create` there also means `createOn`. */
export const resourcesOf = (profile: Profile, expose: Portal['expose']): ReadonlyMap<string, Resource> => {
  const all = Object.entries(profile.resources);
  if (expose === undefined) return new Map(all);
  return new Map(
    all.flatMap(([resource, operations]) => {
      const names = own(expose, resource);
      if (names === undefined) return [];
      const isOpen = ([name]: [string, Operation]): boolean => names.includes(name === 'createOn' ? 'create' : name);
      return [[resource, Object.fromEntries(Object.entries(operations).filter(isOpen))]];
    }),
  );
};

/** The operation that a method and the path after the resource's name mean; undefined when there is none (404). */
export const resolveOperation = (resource: Resource, method: string, args: string[]): Operation | undefined => {
  const [first, second, ...rest] = args;
  const named = (name: string, place: Operation['place']): Operation | undefined => {
    const found = own(resource, name);
    return found?.place === place ? found : undefined;
  };
  if (first === undefined) return { GET: resource.index, POST: resource.create }[method];
  if (method === 'POST' && second === undefined) return named(first, 'action') ?? resource.createOn;
  if (!first || first === '0') return undefined;
  if (second === undefined) {
    return { GET: resource.retrieve, PUT: resource.update, DELETE: resource.delete }[method];
  }
  if (method === 'GET') return rest.length > 2 ? undefined : named(second, 'relationship');
  return method === 'POST' && rest.length === 0 ? named(second, 'targeted') : undefined;
};

/** Throws 401 for a change by a session without its CSRF token. `method` is the one that came over the wire. */
export const checkToken = (call: Call, operation: Operation, method: string): void => {
  if (operation.csrf === false || call.session === null || ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)) return;
  const sent = call.portal.profile.wire.csrfTokenOf(call);
  if (!isSameSecret(sent, call.session.token)) throw new Refusal(401, 'CSRF validation failed');
};

/** Throws what keeps a call from running: 401 for a missing argument or CSRF token, then what the operation's access check throws. */
export const checkCall = (call: Call, operation: Operation, method: string): void => {
  const missing = operation.requires?.(call).find((name) => (own(call.body, name) ?? null) === null);
  if (missing !== undefined) throw new Refusal(401, `Missing required argument ${missing}`);
  checkToken(call, operation, method);
  operation.access?.(call);
};
