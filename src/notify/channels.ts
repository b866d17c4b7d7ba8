// The channels of a notice: webhook and e-mail.
import { createHmac } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { request } from 'undici';
import type { NotifyConfig } from '../config/config.ts';
import { errorMessage, NoticeFailedError, SourceRefusedError } from '../model/errors.ts';
import { type Notice, noticeText } from './notice.ts';

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
      throw new SourceRefusedError(`the webhook at ${origin} is not notified: ${cause.message}`, {
        hint: 'if this is intended, add its host to `sources.allow` in the configuration; `notify.webhook` in the configuration may be internal',
        cause,
      });
    }
    const why = errorMessage(cause);
    throw new NoticeFailedError(`the webhook at ${origin} rejected a notice: ${why.replaceAll(to.url, origin)}`, {
      hint: 'check notify.webhook.url and that its server runs',
    });
  }
  if (status >= 200 && status < 300) return;
  throw new NoticeFailedError(`the webhook at ${origin} answered a notice with status ${status}`, {
    hint: 'check notify.webhook.url, and the secret on both sides',
  });
};

/** Posts without a guard: to addresses of the configuration. */
export const postDirectly: Post = async (url, posting) => {
  const reply = await request(url, { method: 'POST', ...posting });
  await reply.body.dump();
  return reply.statusCode;
};

const connectMs = 10_000;
const silenceMs = 30_000;

/**
 * Sends one plain-text message to all recipients. A login goes over TLS only, except to this machine itself.
 * @throws NoticeFailedError when the mail server is not reached or refuses.
 */
export const sendEmail = async (
  notice: Notice,
  settings: NonNullable<NotifyConfig['email']>,
  to: string[],
): Promise<void> => {
  const { host, port, secure, username, password, from } = settings;
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && username !== null && !isHere,
    ...(username === null ? {} : { auth: { user: username, pass: password ?? '' } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      from,
      to,
      ...noticeText(notice),
      // The same for every repeat, so that mail programs show it once.
      messageId: `<${notice.id}@sluice.invalid>`,
      headers: { 'auto-submitted': 'auto-generated' },
    });
  } catch (error) {
    throw new NoticeFailedError(`the mail server ${host}:${port} rejected a notice: ${wordsOf(error, password)}`, {
      hint: 'check notify.email: host, port, secure, username, password and the addresses',
    });
  } finally {
    transport.close();
  }
};

const wordsOf = (error: unknown, password: string | null): string => {
  const words = errorMessage(error);
  return password === null || password === '' ? words : words.replaceAll(password, '[redacted]');
};
