// One test notice through every channel of the configuration and of its manifests.
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { HeartbeatUrls } from '../config/notify-schema.ts';
import { reasonOf } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { type Post, sendEmail, sendWebhook } from '../notify/channels.ts';
import { sendHeartbeat } from '../notify/heartbeats.ts';
import type { Notice } from '../notify/notice.ts';
import { configuredFetcher } from './configured-fetcher.ts';
import { loadManifests } from './manifests.ts';

/** What came of one channel. */
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
  const { webhook, email, heartbeat } = config.notify;
  const tests: Promise<TestedChannel>[] = [];
  const test = (tested: Omit<TestedChannel, 'error'>, send: () => Promise<void>): void => {
    tests.push(
      send().then(
        () => ({ ...tested, error: null }),
        (error: unknown) => ({ ...tested, error: reasonOf(error) }),
      ),
    );
  };
  const testHeartbeat = (urls: HeartbeatUrls | null | undefined, manifest: string | null): void => {
    const url = urls?.ok;
    if (url === undefined) return;
    const guarded = manifest === null ? {} : { post };
    test({ channel: 'heartbeat', to: new URL(url).origin, manifest }, () =>
      sendHeartbeat(url, { text: summary, ...guarded }, signal),
    );
  };
  if (webhook) {
    test({ channel: 'webhook', to: new URL(webhook.url).origin, manifest: null }, () =>
      sendWebhook(testNotice(null), webhook, signal),
    );
  }
  if (email)
    test({ channel: 'email', to: email.to.join(', '), manifest: null }, () =>
      sendEmail(testNotice(null), email, email.to),
    );
  testHeartbeat(heartbeat, null);
  for (const { name, notify } of await loadManifests(config.manifests, log)) {
    const { webhook: url = null, email: to = null } = notify ?? {};
    if (url !== null) {
      test({ channel: 'webhook', to: new URL(url).origin, manifest: name }, () =>
        sendWebhook(testNotice(name), { url, secret: null, post }, signal),
      );
    }
    if (email && to !== null)
      test({ channel: 'email', to: to.join(', '), manifest: name }, () => sendEmail(testNotice(name), email, to));
    testHeartbeat(notify?.heartbeat, name);
  }
  try {
    return await Promise.all(tests);
  } finally {
    await fetcher.close();
  }
};

const summary = 'a test notice: notices arrive here';

const testNotice = (manifest: string | null): Notice => ({
  id: `test.${randomUUID()}`,
  event: 'test',
  at: new Date().toISOString(),
  portal: null,
  manifest,
  runId: null,
  summary,
  items: [],
  more: 0,
});
