// The bodies this API answers with, as loose schemas: unknown keys pass, ids become strings.
import { z } from 'zod';
import { fieldItems } from '../dataset-api/fields.ts';
import { parsedJson } from '../util/json.ts';
import type { PortalFacts, Reply } from './answers.ts';
import { wrongShape } from './classify.ts';

/** A numeric id or timestamp; portals send strings, some numbers. */
const id = z.union([z.string(), z.number()]).transform(String);

/** A string that some portals leave out or send as null. */
const text = z
  .union([z.string(), z.number(), z.null()])
  .optional()
  .transform((value) => (value === undefined || value === null ? '' : String(value)));

const columns = { uuid: text, type: text, title: text, status: text, uid: text, changed: text, language: text };

/** A node as read (spec 2.1 to 2.3); fields are under their own names, see `fieldItems`. */
export const portalNodeSchema = z.looseObject({
  ...columns,
  nid: id,
  vid: id,
  log: text,
  path: z
    .string()
    .nullish()
    .transform((value) => value ?? null),
});

/** `status` is `"1"` when published, `path` the public address. */
export type PortalNode = z.infer<typeof portalNodeSchema>;

/** A row of the node list: columns of the node table, no fields (recorded behaviour 6). */
const nodeRowSchema = z.looseObject({ ...columns, nid: id, vid: text });

/** Columns that were not requested are ''. */
export type NodeRow = z.infer<typeof nodeRowSchema>;

export const nodeRowsSchema = z.array(nodeRowSchema);

/** Result of create and update (spec 2.5). */
export const nodeResultSchema = z.looseObject({ nid: id });

/** Result of attach (spec 2.6): an object, a list of one, or an empty list. `fid` is null where none was given. */
export const attachResultSchema = z.union([
  z.looseObject({ fid: id }).transform(({ fid }) => ({ fid })),
  z.array(z.looseObject({ fid: id })).transform((files): { fid: string | null } => ({ fid: files[0]?.fid ?? null })),
]);

/** Result of login (spec 2.4). `roles` maps role ids to names; PHP sends an empty map as a list. */
export const loginResultSchema = z.looseObject({
  sessid: z.string().optional(),
  session_name: z.string().optional(),
  token: z
    .string()
    .regex(/^[\x20-\x7e]*$/) // for a header
    .nullish(),
  user: z.looseObject({
    uid: id,
    name: text,
    roles: z
      .union([z.record(z.string(), z.string()), z.array(z.unknown()).transform((): Record<string, string> => ({}))])
      .optional()
      .transform((roles): Record<string, string> => roles ?? {}),
  }),
});

/** The body of a successful reply. @throws PortalNotApiError or PortalReplyError naming what was `expected` */
export const bodyOf = <T>(reply: Reply, schema: z.ZodType<T>, portal: PortalFacts, expected: string): T => {
  const result = schema.safeParse(parsedJson(reply.text));
  if (!result.success) throw wrongShape(reply, portal, expected);
  return result.data;
};

/** Numbers of the terms in a field, in their order. */
export const tidsOf = (node: Readonly<Record<string, unknown>>, field: string): string[] =>
  fieldItems(node, field).flatMap(({ tid }) => (tid === undefined || tid === null ? [] : [String(tid)]));

const fileItemSchema = z.looseObject({ fid: id, filename: z.string(), filesize: id.transform(Number) });

/** The file item of `field_upload` (spec 2.3); `filesize` in bytes. */
export type FileItem = z.infer<typeof fileItemSchema>;

export const fileOf = (node: PortalNode): FileItem | null =>
  fileItemSchema.safeParse(fieldItems(node, 'field_upload')[0]).data ?? null;
