// Keeps values of an object out of everything that prints or serialises the object.
import { inspect } from 'node:util';

/** What hides keys; made once per list of keys, so that equal objects stay equal. */
const hiders = new Map<string, (this: object) => object>();

/**
 * Returns a copy of `target` of which JSON.stringify, util.inspect and the log show `[redacted]` for `keys` where a value
 * stands there. The values themselves stay readable. Copies by spread keep the protection, because it is enumerable: a log
 * that clones what it is given (pino does, to redact) must not undo it.
 */
export const redacting = <T extends object>(target: T, ...keys: (keyof T & string)[]): T => {
  const hide = hiderOf(keys);
  return { ...target, toJSON: hide, [inspect.custom]: hide };
};

const hiderOf = (keys: string[]): ((this: object) => object) => {
  const name = keys.join(' ');
  const known = hiders.get(name);
  if (known !== undefined) return known;
  const hide = function (this: object): object {
    const shown: Record<PropertyKey, unknown> = { ...this };
    delete shown.toJSON;
    delete shown[inspect.custom];
    for (const key of keys) if (shown[key] !== null && shown[key] !== undefined) shown[key] = '[redacted]';
    return shown;
  };
  hiders.set(name, hide);
  return hide;
};
