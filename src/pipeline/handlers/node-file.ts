// The file of a resource node that was read.
import { z } from 'zod';
import type { PortalNode } from '../../portal-client/client.ts';
import { fieldItems } from '../../portal-client/replies.ts';

const fileItemSchema = z.looseObject({
  fid: z.union([z.string(), z.number()]).transform(String),
  filename: z.string(),
  filesize: z.union([z.string(), z.number()]).transform(Number),
});

/** The file item of `field_upload` (spec 2.3); `filesize` in bytes. */
export type FileItem = z.infer<typeof fileItemSchema>;

/** The file of a resource node, or null when it has none. */
export const fileOf = (node: PortalNode): FileItem | null => {
  const parsed = fileItemSchema.safeParse(fieldItems(node, 'field_upload')[0]);
  return parsed.success ? parsed.data : null;
};
