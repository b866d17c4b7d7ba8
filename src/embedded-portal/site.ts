// What the operator of a deployed site decides outside of the service.
import { z } from 'zod';

/** The switches of a site; all off when absent. */
export const siteSchema = z
  .strictObject({
    /** True: only accounts with `access site in maintenance mode` are served. */
    maintenance: z.boolean().default(false),
  })
  .prefault({});

/** See {@link siteSchema}; a running portal obeys each change at once. */
export type Site = z.output<typeof siteSchema>;

/** A site with these switches set. */
export const siteWith = (changes: Partial<Site> = {}): Site => ({ ...siteSchema.parse(undefined), ...changes });
