// Which operations of the service exist, so that a page names no address that is not there.
import type { Portal } from '../call.ts';

/** True when the portal has that operation of a resource. */
export const isExposed = ({ expose }: Portal, resource: string, operation: string): boolean =>
  expose === null || (Object.hasOwn(expose, resource) && expose[resource]?.includes(operation) === true);
