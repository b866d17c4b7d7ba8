// Keeps one value of an object out of everything that prints or serialises the object.
import { inspect } from 'node:util';

/** What hides a key; made once per key, so that equal objects stay equal. */
const hiders = new Map<PropertyKey, (this: object) => object>();

/**
 * Returns a copy of `target` of which JSON.stringify, util.inspect and the log show `[redacted]` for `key` where a value
 * stands there. The value itself stays readable. Copies by spread keep the protection, because it is enumerable: a log
 * that clones what it is given (pino does, to redact) must not undo it.
 */
export const redacting = <T extends object>(target: T, key: keyof T): T => {
  const hide = hiderOf(key);
  return { ...target, toJSON: hide, [inspect.custom]: hide };
};

const hiderOf = (key: PropertyKey): ((this: object) => object) => {
  const known = hiders.get(key);
  if (known !== undefined) return known;
  const hide = function (this: object): object {
    const shown: Record<PropertyKey, unknown> = { ...this };
    delete shown.toJSON;
    delete shown[inspect.custom];
    if (shown[key] !== null && shown[key] !== undefined) shown[key] = '[redacted]';
    return shown;
  };
  hiders.set(key, hide);
  return hide;
};
