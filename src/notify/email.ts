// Sends a notice by e-mail.
import { createTransport } from 'nodemailer';
import type { NotifyConfig } from '../config/config.ts';
import { NoticeFailedError, sayingOf } from '../model/errors.ts';
import { type Notice, noticeText } from './notice.ts';

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
    throw new NoticeFailedError(`the mail server ${host}:${port} did not take a notice: ${wordsOf(error, password)}`, {
      hint: 'check notify.email: host, port, secure, username, password and the addresses',
    });
  } finally {
    transport.close();
  }
};

const wordsOf = (error: unknown, password: string | null): string => {
  const words = sayingOf(error);
  return password === null || password === '' ? words : words.replaceAll(password, '[redacted]');
};
