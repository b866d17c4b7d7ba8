// The channels of a notice: webhook and e-mail.
import { createHmac } from 'node:crypto';
import { Agent } from 'undici';
import type { NotifyConfig } from '../config/config.ts';
import { errorMessage, NoticeFailedError, SourceRefusedError } from '../model/errors.ts';
import { type Notice, noticeText } from './notice.ts';

const deliveryMs = 10_000;

/** `sha256=` and the HMAC-SHA256 of the body in hex: the value of the header `sluice-signature`. */
export const signatureOf = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Sends one POST and resolves with the status of its answer. */
export type Post = (
  url: string,
  posting: { headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<number>;

interface Delivery {
  receiver: string;
  what: string;
  hint: string;
  /** For addresses that must be guarded; without it any address is reached. */
  post?: Post | undefined;
}

/** Posts once; any 2xx is success, redirects are not followed. Errors name no more of the address than its origin. */
export const deliver = async (
  url: string,
  { receiver, what, hint, post = postDirectly }: Delivery,
  posting: Parameters<Post>[1],
): Promise<void> => {
  const { origin } = new URL(url);
  const status = await post(url, posting).catch((cause: unknown) => {
    if (cause instanceof SourceRefusedError) throw cause;
    const why = errorMessage(cause).replaceAll(url, origin);
    throw new NoticeFailedError(`${what} could not be delivered to ${receiver} at ${origin}: ${why}`, { hint });
  });
  if (status >= 200 && status < 300) return;
  throw new NoticeFailedError(`${receiver} at ${origin} answered ${what} with status ${status}`, { hint });
};

/** Our own: the global dispatcher may be that of Node, in another version. */
const agent = new Agent();

/** Posts without a guard: to addresses of the configuration. */
const postDirectly: Post = async (url, posting) => {
  const { origin, pathname, search } = new URL(url);
  const reply = await agent.request({ method: 'POST', origin, path: pathname + search, ...posting });
  await reply.body.dump();
  return reply.statusCode;
};

/** Posts a notice, signed where there is a secret. @throws what {@link deliver} throws */
export const sendWebhook = async (
  notice: Notice,
  { url, secret, post }: { url: string; secret: string | null; post?: Post },
  signal: AbortSignal,
): Promise<void> => {
  const body = JSON.stringify(notice);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'sluice',
    'sluice-event': notice.event,
    'sluice-notice': notice.id,
    ...(secret === null ? {} : { 'sluice-signature': signatureOf(body, secret) }),
  };
  const hint = 'check notify.webhook: its url, its secret, and that its server runs';
  const delivery = { receiver: 'the webhook', what: 'a notice', hint, post };
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(deliveryMs)]);
  await deliver(url, delivery, { body, headers, signal: bounded }).catch((cause: unknown) => {
    if (!(cause instanceof SourceRefusedError)) throw cause;
    throw new SourceRefusedError(`the webhook at ${new URL(url).origin} is not notified: ${cause.message}`, {
      hint: 'if this is intended, add its host to `sources.allow` in the configuration; `notify.webhook` in the configuration may be internal',
      cause,
    });
  });
};

const [connectMs, silenceMs] = [10_000, 30_000];

/** Sends one plain-text message to all recipients. A login goes over TLS only, except to this machine itself. */
export const sendEmail = async (
  notice: Notice,
  { host, port, secure, username, password, from }: NonNullable<NotifyConfig['email']>,
  to: string[],
): Promise<void> => {
  const { createTransport } = await import('nodemailer'); // large, and only for those who want e-mail
  const isHere = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  const transport = createTransport({
    host,
    port,
    secure,
    disableFileAccess: true,
    disableUrlAccess: true,
    requireTLS: !secure && username !== null && !isHere,
    ...(username === null ? {} : { auth: { user: username, pass: password ?? '' } }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
  });
  // The same id for every repeat, so that mail programs show it once.
  const ids = { messageId: `<${notice.id}@sluice.invalid>`, headers: { 'auto-submitted': 'auto-generated' } };
  try {
    await transport.sendMail({ from, to, ...noticeText(notice), ...ids });
  } catch (error) {
    const why = password ? errorMessage(error).replaceAll(password, '[redacted]') : errorMessage(error);
    throw new NoticeFailedError(`a notice could not be sent by the mail server ${host}:${port}: ${why}`, {
      hint: 'check notify.email: host, port, secure, username, password and the addresses',
    });
  } finally {
    transport.close();
  }
};
