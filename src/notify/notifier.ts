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
  /** True when the report covers the whole target. */
  isWhole: boolean;
}

const nobody: ManifestNotify = { email: null, webhook: null };

/** Keeps incidents in Redis, so that all workers together report each once. */
export class Notifier {
  readonly #parts: NotifierParts;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  /** Sends notices about a closed run. May be called again after a kill. `manifest` is called only where needed. */
  async runClosed(report: StoredReport, manifest: () => Promise<ManifestFacts>): Promise<void> {
    if (report.reason?.code === 'cancelled') return; // the person who cancelled it knows
    const { redis, keys } = this.#parts;
    const field = targetName(report);
    const text = await redis.hget(keys.incidents, field);
    if (text === null && isSuccess(report)) return;
    const { notify, isWhole } = await manifest();
    if (!this.#hasChannel(notify)) return;
    const before = text === null ? null : incidentSchema.parse(JSON.parse(text));
    const { incident, news } = judge(before, report, isWhole);
    for (const each of news) await this.#send(runNotice(report, each, before), notify);
    if (incident) await redis.hset(keys.incidents, field, JSON.stringify(incident));
    else await redis.hdel(keys.incidents, field);
  }

  /** Queues a notice made elsewhere, once for its id; `own`: the recipients in its manifest. */
  async send(notice: Notice, own: ManifestNotify): Promise<void> {
    if (this.#hasChannel(own)) await this.#send(notice, own);
  }

  /** Reports that a portal was paused or works again, each once; every worker calls it repeatedly. */
  async portalState(portal: string, pauses: Pauses): Promise<void> {
    if (!this.#hasChannel(nobody)) return;
    const { redis, keys } = this.#parts;
    const field = `@${portal}`;
    const news = judgePortal(portal, pauses, await redis.hget(keys.incidents, field));
    if (news === null) return;
    await this.#send(news.notice, nobody);
    await redis.hset(keys.incidents, field, news.sign);
  }

  /** Delivers one queued notice; only addresses in the configuration get signatures and may be internal. */
  async deliver(data: unknown, signal: AbortSignal): Promise<void> {
    const job = noticeJobSchema.parse(data);
    const { webhook, email } = this.#parts.config;
    if (job.channel === 'email') {
      if (!email) throw notHere('notify.email');
      return sendEmail(job.notice, email, job.to ?? email.to);
    }
    const { url, notice } = job;
    const isOfManifest = url !== null && url !== webhook?.url;
    const receiver = isOfManifest ? { url, secret: null, post: this.#parts.post } : webhook;
    if (!receiver) throw notHere('notify.webhook');
    return sendWebhook(notice, receiver, signal);
  }

  #hasChannel({ email, webhook }: ManifestNotify): boolean {
    return [email, webhook, this.#parts.config.webhook, this.#parts.config.email].some((channel) => channel !== null);
  }

  /** Delivers a notice at once, where the state takes nothing into the queue; a failure is only logged. */
  async sendPastQueue(told: Notice): Promise<void> {
    const { config, log } = this.#parts;
    const notice = this.#withPage(told);
    const failed = (err: unknown): void => log.error({ err }, 'a notice was not delivered');
    await Promise.all([
      config.webhook && sendWebhook(notice, config.webhook, new AbortController().signal).catch(failed),
      config.email && sendEmail(notice, config.email, config.email.to).catch(failed),
    ]);
  }

  /** With the page of what it is about: of one item, else of its run. */
  #withPage(notice: Notice): Notice {
    const { pages } = this.#parts;
    if (pages === null) return notice;
    const [only, other] = notice.items;
    const item = only?.key && !other ? `item/${only.key.split('/').map(encodeURIComponent).join('/')}` : null;
    return { ...notice, url: `${pages}/${item ?? (notice.runId === null ? '' : `run/${notice.runId}`)}` };
  }

  async #send(told: Notice, own: ManifestNotify): Promise<void> {
    const { config, enqueue, log } = this.#parts;
    const notice = this.#withPage(told);
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
  }
}

const notHere = (key: string): NoticeFailedError =>
  new NoticeFailedError(`the configuration of this worker has no ${key}, but a notice for it waits`, {
    hint: 'give all workers of one Redis the same notify settings',
  });
