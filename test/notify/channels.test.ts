// Webhook and e-mail against real servers on loopback.
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sendEmail, sendWebhook } from '../../src/notify/channels.ts';
import { type Notice, noticeItem } from '../../src/notify/notice.ts';
import { openHook } from './support/hook.ts';
import { openMailServer } from './support/smtp.ts';

const notice: Notice = {
  id: 'run-1.run-failed',
  event: 'run-failed',
  at: '2026-11-21T03:15:42.118Z',
  portal: 'city',
  manifest: 'finance',
  runId: 'run-1',
  summary: 'finance@city: 2 items failed',
  url: 'https://sluice.example.org/run/run-1',
  items: [
    noticeItem('finance/budget/spending', { code: 'table-ragged', hint: 'look in that line', line: 7, column: 2 }),
    noticeItem('finance/budget/größe', { code: 'bug', hint: null }),
  ],
  more: 3,
};
const { signal } = new AbortController();

describe('the webhook', () => {
  it('gets the notice as JSON, signed over the bytes of the body', async () => {
    const hook = await openHook();
    await sendWebhook(notice, { url: hook.url, secret: 's3cret' }, signal);
    const [taken] = hook.taken;
    expect(taken?.method).toBe('POST');
    expect(JSON.parse(taken?.body ?? '')).toEqual(notice);
    expect(taken?.headers).toMatchObject({
      'content-type': 'application/json',
      'sluice-event': 'run-failed',
      'sluice-notice': 'run-1.run-failed',
      'sluice-signature': `sha256=${createHmac('sha256', 's3cret')
        .update(taken?.body ?? '')
        .digest('hex')}`,
    });
  });

  it('is not signed without a secret', async () => {
    const hook = await openHook();
    await sendWebhook(notice, { url: hook.url, secret: null }, signal);
    expect(hook.taken[0]?.headers).not.toHaveProperty('sluice-signature');
  });

  it.each([302, 404, 500])(
    'that answers %i did not take it; the error holds no token of the address',
    async (status) => {
      const hook = await openHook();
      hook.status = status;
      const sent = sendWebhook(notice, { url: hook.url, secret: null }, signal);
      await expect(sent).rejects.toMatchObject({ code: 'notice-failed', retryable: true });
      await expect(sent).rejects.toThrow(`answered a notice with status ${status}`);
      await expect(sent).rejects.not.toThrow('t0ken');
      expect(hook.taken).toHaveLength(1);
    },
  );

  it('where nothing listens is an error that may pass', async () => {
    const sent = sendWebhook(notice, { url: 'http://127.0.0.1:1/t0ken', secret: null }, signal);
    await expect(sent).rejects.toMatchObject({ code: 'notice-failed' });
    await expect(sent).rejects.not.toThrow('t0ken');
  });
});

describe('e-mail', () => {
  const settings = (port: number, more: { username?: string; password?: string } = {}) => ({
    host: '127.0.0.1',
    port,
    secure: false,
    username: more.username ?? null,
    password: more.password ?? null,
    from: 'Sluice <sluice@example.org>',
    to: [],
  });

  it('goes to every recipient, readable, with the same message id for every repeat', async () => {
    const server = await openMailServer();
    await sendEmail(notice, settings(server.port), ['a@example.org', 'b@example.org']);
    await sendEmail(notice, settings(server.port), ['a@example.org']);
    const [mail, again] = server.mails;
    expect(mail?.to).toEqual(['a@example.org', 'b@example.org']);
    expect(mail?.login).toBeNull();
    expect(mail?.data).toContain('Subject: [sluice] finance@city: 2 items failed\n');
    expect(mail?.data).toContain('Auto-Submitted: auto-generated\n');
    const text = decoded(mail?.data ?? '');
    expect(text).toContain('- finance/budget/spending: table-ragged, line 7, column 2\n');
    expect(text).toContain('\n  -> look in that line\n');
    expect(text).toContain('\nPage: https://sluice.example.org/run/run-1\n');
    expect(text).toContain('- finance/budget/größe: bug\n  A fault of sluice itself.\n');
    expect(text).toContain('- and 3 more\n');
    const ids = [mail, again].map((each) => /^Message-ID: (.*)$/im.exec(each?.data ?? '')?.[1]);
    expect(ids[0]).toBe('<run-1.run-failed@sluice.invalid>');
    expect(ids[1]).toBe(ids[0]);
  });

  it('logs in where a user is given', async () => {
    const server = await openMailServer();
    await sendEmail(notice, settings(server.port, { username: 'u', password: 'p' }), ['a@example.org']);
    expect(server.mails[0]?.login).toBe('u p');
  });

  it('sends no password in clear to another machine', async () => {
    const server = await openMailServer();
    // 0.0.0.0 reaches this machine, but is no name of it.
    const remote = { ...settings(server.port, { username: 'u', password: 'p' }), host: '0.0.0.0' };
    await expect(sendEmail(notice, remote, ['a@example.org'])).rejects.toMatchObject({ code: 'notice-failed' });
    expect(server.mails).toEqual([]);
    expect(server.logins).toEqual([]);
  });

  it('that is refused is an error that may pass, without the password', async () => {
    const server = await openMailServer();
    server.answer = '550 no such user';
    await expect(sendEmail(notice, settings(server.port), ['a@example.org'])).rejects.toMatchObject({
      code: 'notice-failed',
      retryable: true,
      message: expect.stringContaining('550 no such user'),
    });
    const refused = sendEmail(notice, settings(server.port, { username: 'u', password: 'wrong' }), ['a@example.org']);
    await expect(refused).rejects.toThrow('535');
    await expect(refused).rejects.not.toThrow('wrong');
  });
});

/** The text of a quoted-printable message. */
const decoded = (data: string): string => {
  const text = data
    .slice(data.indexOf('\n\n') + 2)
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(text, 'latin1').toString('utf8');
};
