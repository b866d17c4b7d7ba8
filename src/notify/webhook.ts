// Sends a notice to a web address: JSON by POST, signed.
import { createHmac } from 'node:crypto';
import { request } from 'undici';
import { NoticeFailedError, sayingOf } from '../errors.ts';
import type { Notice } from './notice.ts';

/** Milliseconds one delivery may take. */
const deliveryMs = 10_000;

/** `sha256=` and the HMAC-SHA256 of the body in hex: the value of the header `sluice-signature`. */
export const signatureOf = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/**
 * Posts a notice; any 2xx answer is success, redirects are not followed. Headers: `sluice-event`, `sluice-notice` (the id,
 * the same for every repeat) and, with a secret, `sluice-signature`. @throws NoticeFailedError, whose message holds no
 * more of the address than its origin.
 */
export const sendWebhook = async (
  notice: Notice,
  to: { url: string; secret: string | null },
  signal: AbortSignal,
): Promise<void> => {
  const body = JSON.stringify(notice);
  const origin = new URL(to.url).origin;
  let status: number;
  try {
    const reply = await request(to.url, {
      method: 'POST',
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
    status = reply.statusCode;
    await reply.body.dump();
  } catch (cause) {
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
