// What replies come to: the bodies this API answers with, as loose schemas (unknown keys pass, ids become strings); or errors,
// whose class and hint follow from their situation, and whose message has the portal's words.
import { z } from 'zod';
import { fieldItems } from '../dataset-api/fields.ts';
import type * as errors from '../model/errors.ts';
import { networkFaultOf, retryAfterMs } from '../util/http.ts';
import { parsedJson } from '../util/json.ts';
import { answers, hintFor, outcomes, type PortalFacts, type Reply, type Situation, situationOf } from './answers.ts';
import { formErrorFields, isHtmlPage, wordsOf } from './reply-text.ts';

/** A numeric id or timestamp; portals send strings, some numbers. */
const id = z.union([z.string(), z.number()]).transform(String);

/** The id of what a write made. */
const givenId = id.pipe(z.string().regex(/^[1-9]\d*$/));

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
export const nodeResultSchema = z.looseObject({ nid: givenId });

/** Result of attach (spec 2.6): an object, or a list of one. An empty list says that nothing was attached (recorded behaviour 12). */
export const attachResultSchema = z.preprocess(
  (value) => (Array.isArray(value) ? value[0] : value),
  z.looseObject({ fid: givenId }),
);

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
      .nullish()
      .transform((roles): Record<string, string> => roles ?? {}),
  }),
});

/** The body of a successful reply. @throws PortalNotApiError or PortalReplyError naming what was `expected` */
export const bodyOf = <T>(reply: Reply, schema: z.ZodType<T>, portal: PortalFacts, expected: string): T => {
  const result = schema.safeParse(parsedJson(reply.text));
  if (!result.success) throw wrongShape(reply, portal, expected);
  return result.data;
};

const fileItemSchema = z.looseObject({ fid: id, filename: z.string(), filesize: id.transform(Number) });

/** The file item of `field_upload` (spec 2.3); `filesize` in bytes. */
export type FileItem = z.infer<typeof fileItemSchema>;

export const fileOf = (node: PortalNode): FileItem | null =>
  fileItemSchema.safeParse(fieldItems(node, 'field_upload')[0]).data ?? null;

const errorOf = (
  situation: Situation,
  message: string,
  facts: errors.PortalRequestFacts,
  details: { hint?: string; cause?: unknown } = {},
): errors.PortalError => {
  const [Made] = outcomes[answers[situation].outcome];
  return new Made(message, facts, { hint: hintFor(situation), ...details });
};

/** True where the same request may succeed soon, so that a read is repeated: 408, 425, 429 and 5xx, unless the input is at fault. */
export const isTransient = (reply: Reply, portal: PortalFacts): boolean =>
  (reply.status >= 500 || [408, 425, 429].includes(reply.status)) &&
  ['repeat', 'retry', 'wait'].includes(answers[situationOf(reply, portal)].outcome);

const start = ({ method, path, status }: Reply, { name }: PortalFacts): string =>
  `portal ${name}: ${method} ${path} answered ${status}`;

/** The facts of a reply's request. A write that was answered with 5xx or sent elsewhere may have happened. */
const factsOf = (reply: Reply, situation: Situation): errors.PortalRequestFacts => {
  const { fault, waitMs, isUndone = false } = answers[situation];
  const askedMs = retryAfterMs(reply.headers['retry-after'], Date.now()) ?? waitMs;
  const [, nid] = /\b(?:nid|node)\W{0,3}(\d+)\b/i.exec(wordsOf(reply)) ?? [];
  const isRefusal = (reply.status >= 400 && reply.status < 500) || [301, 307, 308].includes(reply.status);
  const formErrors = reply.status === 406 ? formErrorFields(reply.text) : [];
  return {
    method: reply.method,
    path: reply.path,
    status: reply.status,
    situation,
    fault,
    ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
    ...(formErrors.length === 0 ? {} : { formErrors }),
    ...(nid === undefined || situation !== 'uuid-taken' ? {} : { nid }),
    mayHaveHappened: reply.method !== 'GET' && !isUndone && !isRefusal,
  };
};

/** The error for a reply that is no success (not 2xx). */
export const failureOf = (reply: Reply, portal: PortalFacts): errors.PortalError => {
  const situation = situationOf(reply, portal);
  const words = wordsOf(reply, portal.redact);
  const location = portal.redact(safeLocation(reply));
  const to = reply.status >= 300 && reply.status < 400 ? ` (to ${location})` : '';
  const message = `${start(reply, portal)}${words === '' ? '' : `: ${words}`}${to}`;
  const hint = hintFor(situation).replace('LOCATION', () => siteOf(location, reply, portal));
  return errorOf(situation, message, factsOf(reply, situation), { hint });
};

/** The address of the site behind a redirect, as the configuration takes it: without the path of the request. */
const siteOf = (location: string, { path }: Reply, { url }: PortalFacts): string => {
  const target = /^(?:https?:|\/)/.test(location) ? URL.parse(location, url) : null;
  const [bare = ''] = path.split('?');
  return target === null ? location : `${target.origin}${target.pathname}`.replace(bare, '').replace(/\/+$/, '');
};

/** The error for a reply of status 2xx whose body is not what this API answers. */
export const wrongShape = (reply: Reply, portal: PortalFacts, expected: string): errors.PortalError => {
  const isGzip = reply.text.startsWith('\u001f\ufffd'); // its second byte is no UTF-8
  const words = isGzip ? '' : wordsOf({ ...reply, reason: '' }, portal.redact);
  const unpaged = isGzip ? 'gzip without a header for it' : 'something else';
  const found = `${isHtmlPage(reply.text) ? 'an HTML page' : unpaged}${words === '' ? '' : ` ("${words}")`}`;
  const situation = portal.proven ? 'odd-answer' : 'not-this-api';
  const message = `${start(reply, portal)} with ${found} instead of ${expected}`;
  return errorOf(situation, message, factsOf(reply, situation));
};

/** Without query and credentials: they may hold tokens. */
const safeLocation = ({ headers: { location = '' } }: Reply): string => {
  if (location === '') return 'nowhere';
  const url = URL.parse(location, 'http://same.invalid');
  if (url === null) return 'an invalid address';
  return url.hostname === 'same.invalid' ? url.pathname : `${url.origin}${url.pathname}`;
};

/** The error for a request that got no complete reply. `cause` is what undici raised. */
export const networkFailure = (
  { method, path }: { method: string; path: string },
  cause: unknown,
  portal: PortalFacts,
): errors.PortalError => {
  const { kind: known, message } = networkFaultOf(cause);
  const isNoHttp = known === 'handshake-failed' || known === 'bad-http';
  const situation = isNoHttp && !portal.proven ? 'not-this-api' : known;
  const { fault, isUndone } = answers[known];
  const facts = { method, path, situation, fault, mayHaveHappened: method !== 'GET' && !isUndone };
  const text = `portal ${portal.name}: ${method} ${path} got no reply: ${portal.redact(message)}`;
  return errorOf(situation, text, facts, { cause, hint: hintFor(known === 'handshake-failed' ? known : situation) });
};

/** The error for a request that was cut off because its reply takes too long; `how` is the end of the sentence. */
export const tooSlow = ({ method, path }: { method: string; path: string }, how: string, portal: PortalFacts) => {
  const facts = { method, path, situation: 'too-slow', fault: 'network', mayHaveHappened: method !== 'GET' } as const;
  return errorOf('too-slow', `portal ${portal.name}: ${method} ${path} ${how}`, facts);
};
