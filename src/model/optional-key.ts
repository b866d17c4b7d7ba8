// An optional key with its description for documentation and JSON schemas.
import type { z } from 'zod';

/** What the documentation says of a key; `default` is what holds where it is left out. */
interface KeyDocs {
  default?: unknown;
  description: string;
  examples?: unknown[];
}

/** The schema of a key that may be left out, but not be `undefined`. */
export const optional = <T extends z.ZodType>(schema: T, docs: KeyDocs): z.ZodExactOptional<T> =>
  schema.exactOptional().meta({ ...docs });
