// The resources of a profile, the operation that a request means, and the checks before it runs (recorded behaviour 1).
import type { Call, Operation, Profile, Resource } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import { hasValidToken } from './user.ts';

const chosen = <T extends object>(table: T, names: readonly string[]): Partial<T> =>
  Object.fromEntries(Object.entries(table).filter(([name]) => names.includes(name))) as Partial<T>; // some of its entries

const narrowed = (resource: Resource, names: readonly string[]): Resource => {
  const { actions = {}, targetedActions = {}, relationships = {}, createOn, resultFormat, ...simple } = resource;
  return {
    ...chosen(simple, names),
    ...(createOn !== undefined && names.includes('create') ? { createOn } : {}),
    ...(resultFormat === undefined ? {} : { resultFormat }),
    actions: chosen(actions, names) as Record<string, Operation>,
    targetedActions: chosen(targetedActions, names) as Record<string, Operation>,
    relationships: chosen(relationships, names) as Record<string, Operation>,
  };
};

/**
 * The resources of a profile by name. `expose` names the operations that exist (`index`, `retrieve`, `create`, `update`,
 * `delete`, actions and relationships by their own names); a resource that it does not name does not exist. Null: all.
 */
export const resourcesOf = (
  { resources }: Profile,
  expose: Readonly<Record<string, readonly string[]>> | null,
): ReadonlyMap<string, Resource> => {
  const all = Object.entries(resources);
  if (expose === null) return new Map(all);
  return new Map(
    all.flatMap(([name, resource]) => {
      const names = Object.hasOwn(expose, name) ? expose[name] : undefined;
      return names === undefined ? [] : [[name, narrowed(resource, names)] as const];
    }),
  );
};

const own = (table: Record<string, Operation> | undefined, name: string): Operation | undefined =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

const isId = (part: string | undefined): part is string => part !== undefined && part !== '' && part !== '0';

const resolveGet = (resource: Resource, [id, relationship, ...rest]: string[]): Operation | undefined => {
  if (id === undefined) return resource.index;
  if (!isId(id)) return undefined;
  if (relationship === undefined) return resource.retrieve;
  return rest.length > 2 ? undefined : own(resource.relationships, relationship);
};

const resolvePost = (resource: Resource, [first, action, ...rest]: string[]): Operation | undefined => {
  if (first === undefined) return resource.create;
  if (action === undefined) return own(resource.actions, first) ?? resource.createOn;
  return isId(first) && rest.length === 0 ? own(resource.targetedActions, action) : undefined;
};

/** The operation that a method and the path after the resource's name mean; undefined when there is none (404). */
export const resolveOperation = (resource: Resource, method: string, args: string[]): Operation | undefined => {
  if (method === 'GET') return resolveGet(resource, args);
  if (method === 'POST') return resolvePost(resource, args);
  if (args.length !== 1 || !isId(args[0])) return undefined;
  if (method === 'PUT') return resource.update;
  return method === 'DELETE' ? resource.delete : undefined;
};

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Throws 401 for a change by a session without its CSRF token. `method` is the one that came over the wire. */
export const checkToken = (call: Call, operation: Operation, method: string): void => {
  if (!operation.csrf || call.session === null || safeMethods.has(method)) return;
  if (!hasValidToken(call)) throw new Refusal(401, 'CSRF validation failed');
};

/** Throws 401 for the first argument that the body lacks. */
const checkArguments = (call: Call, operation: Operation): void => {
  for (const name of operation.requires(call)) {
    const value = Object.hasOwn(call.body, name) ? call.body[name] : undefined;
    if (value === undefined || value === null) throw new Refusal(401, `Missing required argument ${name}`);
  }
};

/** Throws what keeps a call from running: 401 for a missing argument or CSRF token, then what the operation's access check throws. */
export const checkCall = (call: Call, operation: Operation, method: string): void => {
  checkArguments(call, operation);
  checkToken(call, operation, method);
  operation.access(call);
};
