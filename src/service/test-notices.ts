// One test notice through every channel of the configuration and of its manifests.
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { type Post, sendEmail, sendWebhook } from '../notify/channels.ts';
import { sendHeartbeat } from '../notify/heartbeats.ts';
import { type Notice, noticeOf } from '../notify/notice.ts';
import { configuredFetcher } from '../sources/fetch/fetch.ts';
import { loadManifests } from './manifests.ts';

interface TestedChannel {
  channel: 'webhook' | 'email' | 'heartbeat';
  /** Origin of the address, or the recipients: what may be shown. */
  to: string;
  /** The manifest that names it; null for the configuration. */
  manifest: string | null;
  /** Null: it was taken. */
  error: { message: string; hint: string | null } | null;
}

/** Sends them all at once; each takes as long as a delivery may. Heartbeats are those of success. */
export const testNotices = async (
  config: Config,
  { env, log, signal }: { env: NodeJS.ProcessEnv; log: Log; signal: AbortSignal },
): Promise<TestedChannel[]> => {
  const fetcher = configuredFetcher(config, env);
  const post: Post = (url, posting) => fetcher.post(url, posting);
  const { email, ...configured } = config.notify;
  const own = { manifest: null, ...configured, to: email?.to ?? null, guarded: {} };
  const { manifests, skipped } = await loadManifests(config.manifests);
  for (const { path, why } of skipped) log.error({ path }, `skipped: ${why}`);
  const named = manifests.map(({ name: manifest, notify }) => {
    const { webhook: url = null, email: to = null, heartbeat = null } = notify ?? {};
    return { manifest, webhook: url === null ? null : { url, secret: null, post }, to, heartbeat, guarded: { post } };
  });
  const tests = [own, ...named].flatMap(({ manifest, webhook, to, heartbeat, guarded }) => {
    const notice = testNotice(manifest);
    const ping = heartbeat?.ok;
    const test = async (channel: TestedChannel['channel'], to: string, sent: Promise<void>) => ({
      channel,
      to,
      manifest,
      error: await sent.then(() => null, reasonOf),
    });
    const originOf = (url: string): string => new URL(url).origin;
    return [
      webhook && test('webhook', originOf(webhook.url), sendWebhook(notice, webhook, signal)),
      email && to && test('email', to.join(', '), sendEmail(notice, email, to)),
      ping !== undefined &&
        test('heartbeat', originOf(ping), sendHeartbeat(ping, { text: summary, ...guarded }, signal)),
    ];
  });
  try {
    return (await Promise.all(tests)).filter((tested) => tested !== null && tested !== false);
  } finally {
    await fetcher.close();
  }
};

const summary = 'a test notice: notices arrive here';

const testNotice = (manifest: string | null): Notice =>
  noticeOf({ id: `test.${randomUUID()}`, event: 'test', at: new Date().toISOString(), manifest, summary });
