// How a portal is exported, in the job of the run and in its report.
import { z } from 'zod';

/** Which files of resources an export takes: all anew, those that changed, or none. */
export const exportedFiles = ['changed', 'all', 'none'] as const;

/** How a portal is exported. */
export const exportSchema = z.object({
  /** Absolute path of the folder. */
  folder: z.string(),
  files: z.enum(exportedFiles),
  /** Uuids, node ids and titles of datasets, where not all are exported; a title may hold `*`. */
  only: z.array(z.string()).nullable(),
  /** True: without a login, what the public may read. */
  isPublic: z.boolean(),
});

/** See {@link exportSchema}. */
export type ExportOrder = z.infer<typeof exportSchema>;
