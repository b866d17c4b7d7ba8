// Decides who is notified of what, once per incident, and delivers it.
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { NotifyConfig } from '../config/config.ts';
import { NoticeFailedError } from '../model/errors.ts';
import type { Log } from '../model/log.ts';
import { type RedisKeys, targetName } from '../model/redis-keys.ts';
import { isSuccess, type StoredReport } from '../model/report.ts';
import type { ManifestNotify } from '../sources/manifest/schema.ts';
import { type Post, sendEmail, sendWebhook } from './channels.ts';
import { incidentSchema, judge, judgePortal, type Notice, noticeSchema, type Pauses, runNotice } from './notice.ts';

/** One notice to one channel, as it waits in the queue. Recipients are null where the configuration names them. */
const noticeJobSchema = z.discriminatedUnion('channel', [
  z.object({ channel: z.literal('webhook'), url: z.string().nullable(), notice: noticeSchema }),
  z.object({ channel: z.literal('email'), to: z.array(z.string()).nullable(), notice: noticeSchema }),
]);

interface NotifierParts {
  redis: Redis;
  keys: RedisKeys;
  config: NotifyConfig;
  /** Address of the pages for operators, without a slash at its end; null where people cannot be led there. */
  pages: string | null;
  /** Puts a notice into the durable queue; the same id again changes nothing. */
  enqueue: (id: string, job: z.infer<typeof noticeJobSchema>) => Promise<void>;
  /** Posts to addresses in manifests, whose authors are not trusted with the network. */
  post: Post;
  log: Log;
}

export interface ManifestFacts {
  notify: ManifestNotify;
  isWhole: boolean;
}

const nobody: ManifestNotify = { email: null, webhook: null };

/** Keeps incidents in Redis, so that all workers together report each once. */
export const notifierOf = ({ redis, keys, config, pages, enqueue, post, log }: NotifierParts) => {
  const hasChannel = ({ email, webhook }: ManifestNotify): boolean =>
    [email, webhook, config.webhook, config.email].some((channel) => channel !== null);

  /** With the page of what it is about: of one item, else of its run. */
  const withPage = (notice: Notice): Notice => {
    if (pages === null) return notice;
    const [only, other] = notice.items;
    const item = only?.key && !other ? `item/${only.key.split('/').map(encodeURIComponent).join('/')}` : null;
    return { ...notice, url: `${pages}/${item ?? (notice.runId === null ? '' : `run/${notice.runId}`)}` };
  };

  /** Queues a notice for each channel; `own`: the recipients in its manifest. */
  const tell = async (told: Notice, own: ManifestNotify): Promise<void> => {
    const notice = withPage(told);
    if (own.webhook !== null || config.webhook) {
      await enqueue(`${notice.id}.webhook`, { channel: 'webhook', url: own.webhook, notice });
    }
    if (config.email) await enqueue(`${notice.id}.email`, { channel: 'email', to: own.email, notice });
    else if (own.email !== null) {
      log.warn(
        { manifest: notice.manifest },
        'the manifest names e-mail addresses, but notify.email has no mail server',
      );
    }
    log.info({ action: 'notify', event: notice.event, portal: notice.portal, runId: notice.runId }, notice.summary);
  };

  return {
    /** Sends notices about a closed run. May be called again after a kill. `manifest` is called only where needed. */
    runClosed: async (report: StoredReport, manifest: () => Promise<ManifestFacts>): Promise<void> => {
      if (report.reason?.code === 'cancelled') return; // the person who cancelled it knows
      const field = targetName(report);
      const text = await redis.hget(keys.incidents, field);
      if (text === null && isSuccess(report)) return;
      const { notify, isWhole } = await manifest();
      if (!hasChannel(notify)) return;
      const before = text === null ? null : incidentSchema.parse(JSON.parse(text));
      const { incident, news } = judge(before, report, isWhole);
      for (const each of news) await tell(runNotice(report, each, before), notify);
      if (incident) await redis.hset(keys.incidents, field, JSON.stringify(incident));
      else await redis.hdel(keys.incidents, field);
    },

    /** Queues a notice made elsewhere, once for its id; `own`: the recipients in its manifest. */
    send: async (notice: Notice, own: ManifestNotify): Promise<void> => {
      if (hasChannel(own)) await tell(notice, own);
    },

    /** Reports that a portal was paused or works again, each once; every worker calls it repeatedly. */
    portalState: async (portal: string, pauses: Pauses): Promise<void> => {
      if (!hasChannel(nobody)) return;
      const field = `@${portal}`;
      const news = judgePortal(portal, pauses, await redis.hget(keys.incidents, field));
      if (news === null) return;
      await tell(news.notice, nobody);
      await redis.hset(keys.incidents, field, news.sign);
    },

    /** Delivers one queued notice; only addresses in the configuration get signatures and may be internal. */
    deliver: async (data: unknown, signal: AbortSignal): Promise<void> => {
      const job = noticeJobSchema.parse(data);
      const { webhook, email } = config;
      if (job.channel === 'email') {
        if (!email) throw notHere('notify.email');
        return sendEmail(job.notice, email, job.to ?? email.to);
      }
      const { url, notice } = job;
      const isOfManifest = url !== null && url !== webhook?.url;
      const receiver = isOfManifest ? { url, secret: null, post } : webhook;
      if (!receiver) throw notHere('notify.webhook');
      return sendWebhook(notice, receiver, signal);
    },

    /** Delivers a notice at once, where the state takes nothing into the queue; a failure is only logged. */
    sendPastQueue: async (told: Notice): Promise<void> => {
      const notice = withPage(told);
      const failed = (err: unknown): void => log.error({ err }, 'a notice was not delivered');
      await Promise.all([
        config.webhook && sendWebhook(notice, config.webhook, new AbortController().signal).catch(failed),
        config.email && sendEmail(notice, config.email, config.email.to).catch(failed),
      ]);
    },
  };
};

const notHere = (key: string): NoticeFailedError =>
  new NoticeFailedError(`the configuration of this worker has no ${key}, but a notice for it waits`, {
    hint: 'give all workers of one Redis the same notify settings',
  });
