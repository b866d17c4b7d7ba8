// Reads JSON request bodies.
import { type BodyParser, checkLength, decodeUtf8, defaultParseLimits, isForbiddenKey, openBudget } from './limits.ts';
import { MalformedBody } from './malformed.ts';

const check = (value: unknown, depth: number, spend: (depth: number) => string | null): void => {
  const fault = spend(depth);
  if (fault !== null) throw new MalformedBody(fault);
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) check(item, depth + 1, spend);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (isForbiddenKey(key)) throw new MalformedBody(`the key ${key} is not accepted`);
    check(item, depth + 1, spend);
  }
};

/**
 * The value of a JSON body; an empty body is `null`. The literal `null` and anything that is not JSON is malformed
 * (recorded behaviour 4). Throws {@link MalformedBody} with the parser's own words.
 */
export const parseJson: BodyParser<unknown> = (body, limits = defaultParseLimits) => {
  checkLength(body, limits);
  if (body.byteLength === 0) return null;
  const text = decodeUtf8(body);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new MalformedBody((error as Error).message);
  }
  if (value === null) throw new MalformedBody('null is no body');
  check(value, 0, openBudget(limits).spend);
  return value;
};
