// `sluice notices test`: whether notices arrive.
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { reasonOf, UsageError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { type Post, sendEmail, sendWebhook } from '../notify/channels.ts';
import { sendHeartbeat } from '../notify/heartbeats.ts';
import type { Notice } from '../notify/notice.ts';
import { loadManifests } from '../service/manifests.ts';
import { configuredFetcher } from '../sources/fetch/fetch.ts';
import type { CommandDeclarations } from './declaration.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, type Io, print } from './io.ts';
import { configOf, oneOffLog } from './session.ts';
import { hintLine, lines } from './text.ts';

/** Sends one notice through every channel; 0 when all took it, 3 otherwise. @throws UsageError where there is none */
export const noticesTestCommand = async (options: CommonOptions, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  const channels = await testNotices(config, { env: io.env, log: oneOffLog(config, options, io), signal: io.stop });
  if (channels.length === 0) {
    throw new UsageError('no channel for notices is configured', {
      hint: 'set `notify.webhook`, `notify.email` or `notify.heartbeat` in the configuration',
    });
  }
  const text = channels.map(({ channel, to, manifest, error }) => {
    const whose = manifest === null ? '' : ` (of ${manifest})`;
    return [`${channel} ${to}${whose}: ${error ? `failed: ${error.message}` : 'delivered'}`, hintLine(error?.hint)];
  });
  print(io, options, { json: { channels }, lines: lines(text) });
  return channels.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.someFailed;
};

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
const testNotices = async (
  config: Config,
  { env, log, signal }: { env: NodeJS.ProcessEnv; log: Log; signal: AbortSignal },
): Promise<TestedChannel[]> => {
  const fetcher = configuredFetcher(config, env);
  const post: Post = (url, posting) => fetcher.post(url, posting);
  const { email, ...configured } = config.notify;
  const own = { manifest: null, ...configured, to: email?.to ?? null, guarded: {} };
  const named = (await loadManifests(config.manifests, log)).map(({ name: manifest, notify }) => {
    const { webhook: url = null, email: to = null, heartbeat = null } = notify ?? {};
    return { manifest, webhook: url === null ? null : { url, secret: null, post }, to, heartbeat, guarded: { post } };
  });
  const tests = [own, ...named].flatMap(({ manifest, webhook, to, heartbeat, guarded }) => {
    const notice = testNotice(manifest);
    const ping = heartbeat?.ok;
    const test = async (
      channel: TestedChannel['channel'],
      to: string,
      sent: Promise<void>,
    ): Promise<TestedChannel> => ({
      ...{ channel, to, manifest },
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

const testNotice = (manifest: string | null): Notice => ({
  ...{ id: `test.${randomUUID()}`, event: 'test', at: new Date().toISOString(), portal: null, manifest, runId: null },
  ...{ summary, items: [], more: 0 },
});

export const commands = {
  notices: {
    examples: ['sluice notices test'],
    subcommands: {
      test: {
        description: 'send one test notice through every channel',
        examples: ['sluice notices test --config config/sluice.yaml'],
        run: noticesTestCommand,
      },
    },
  },
} satisfies CommandDeclarations;
