// What the operator of a deployed site decides outside of the service.
import { z } from 'zod';
import { durationMs, durationText, sizeBytes, sizeText } from '../util/quantity.ts';

const size = sizeText.transform(sizeBytes).nullable().default(null);

/** The switches of a site; all off when absent. */
export const siteSchema = z
  .strictObject({
    /** True: only accounts with `access site in maintenance mode` are served. */
    maintenance: z.boolean().default(false),
    /** True: connections end with each reply, those of the service without length or chunks, as from PHP's own server. */
    closesConnections: z.boolean().default(false),
    /** `post_max_size`: a multipart body above it counts as empty; bytes, null for none. */
    postMaxSize: size,
    /** `upload_max_filesize`: a file above it is not taken; bytes, null for none. */
    uploadMaxFilesize: size,
    /** `max_execution_time` of an import, as the rows that it may read and store, each counted as one; null for none. */
    maxExecutionRows: z.int().min(0).nullable().default(null),
    /** How long an import works before it stores a batch of up to 1,000 rows; milliseconds. */
    batchDelay: durationText.transform(durationMs).default(0),
    /** `datasets_per_page` of the catalogue, where the profile has pages; null: one page with all. */
    datasetsPerPage: z.int().min(1).nullable().default(null),
    /** How long pages for visitors without a session stay as they are, milliseconds; null: no page cache. */
    pageCacheMaximumAge: durationText.transform(durationMs).nullable().default(null),
    /** False: look-ups by name show no unpublished nodes, as after the access rights to nodes were rebuilt. */
    suggestsDrafts: z.boolean().default(true),
  })
  .prefault({});

/** See {@link siteSchema}; a running portal obeys each change at once. */
export type Site = z.output<typeof siteSchema>;

export const siteWith = (changes: Partial<Site> = {}): Site => ({ ...siteSchema.parse(undefined), ...changes });
