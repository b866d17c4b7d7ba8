// Keeps one value of an object out of everything that prints or serialises the object.
import { inspect } from 'node:util';

/**
 * Returns `target` itself, changed so that JSON.stringify and util.inspect (and with them logs and test output) show
 * `[redacted]` for `key` where a value stands there. The value itself stays readable; a spread copy is unprotected.
 */
export const redacting = <T extends object>(target: T, key: keyof T): T => {
  const shown = (): object => ({
    ...target,
    ...(target[key] === null || target[key] === undefined ? {} : { [key]: '[redacted]' }),
  });
  for (const name of ['toJSON', inspect.custom])
    Object.defineProperty(target, name, { value: shown, enumerable: false });
  return target;
};
