// Sends a notice to a web address: JSON by POST, signed.
import { createHmac } from 'node:crypto';
import { request } from 'undici';
import { NoticeFailedError, SourceRefusedError, sayingOf } from '../model/errors.ts';
import type { Notice } from './notice.ts';

/** Milliseconds one delivery may take. */
const deliveryMs = 10_000;

/** `sha256=` and the HMAC-SHA256 of the body in hex: the value of the header `sluice-signature`. */
export const signatureOf = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Sends one POST and resolves with the status of its answer. */
export type Post = (
  url: string,
  posting: { headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<number>;

/**
 * Posts a notice; any 2xx answer is success, redirects are not followed. Headers: `sluice-event`, `sluice-notice` (the id,
 * the same for every repeat) and, with a secret, `sluice-signature`. `post` is for addresses that must be guarded.
 * @throws NoticeFailedError, or SourceRefusedError where `post` refuses the address; the messages hold no more of it than
 * its origin.
 */
export const sendWebhook = async (
  notice: Notice,
  to: { url: string; secret: string | null; post?: Post },
  signal: AbortSignal,
): Promise<void> => {
  const body = JSON.stringify(notice);
  const origin = new URL(to.url).origin;
  let status: number;
  try {
    status = await (to.post ?? postDirectly)(to.url, {
      body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'sluice',
        'sluice-event': notice.event,
        'sluice-notice': notice.id,
        ...(to.secret === null ? {} : { 'sluice-signature': signatureOf(body, to.secret) }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(deliveryMs)]),
    });
  } catch (cause) {
    if (cause instanceof SourceRefusedError) {
      throw new SourceRefusedError(`the webhook at ${origin} gets no notice: ${cause.message}`, {
        hint: 'name its host in `sources.allow` of the configuration if it is meant; `notify.webhook` there may be inside',
        cause,
      });
    }
    const why = sayingOf(cause);
    throw new NoticeFailedError(`the webhook at ${origin} did not take a notice: ${why.replaceAll(to.url, origin)}`, {
      hint: 'check notify.webhook.url and that its server runs',
    });
  }
  if (status >= 200 && status < 300) return;
  throw new NoticeFailedError(`the webhook at ${origin} answered a notice with status ${status}`, {
    hint: 'check notify.webhook.url, and the secret on both sides',
  });
};

const postDirectly: Post = async (url, posting) => {
  const reply = await request(url, { method: 'POST', ...posting });
  await reply.body.dump();
  return reply.statusCode;
};
