// A proxy in front of a portal that injects faults by rules.
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { http } from '../../util/http.ts';
import { durationMs } from '../../util/quantity.ts';
import { closeAfter, listenOn } from '../connections.ts';
import type { PortalServer } from '../portal-server.ts';
import { type Draw, drawsOf, type FaultPlan, type FaultRule, type SiteRule } from './rules.ts';

/** A request that came through; `status` is what the portal answered, null when it was not asked or did not answer. */
export interface Seen {
  method: string;
  /** Path and query. */
  path: string;
  status: number | null;
  /** Name of the fault it met, null for none. */
  fault: FaultRule['fault'] | null;
}

interface SwitchboardOptions {
  target: string;
  /** The portal itself, for rules that act on the site; without it they do nothing. */
  server?: Pick<PortalServer, 'site' | 'endSessions' | 'runCron'>;
  /** 127.0.0.1 when absent. */
  host?: string;
  /** 0 (default) takes a free one. */
  port?: number;
  /** Null passes everything. */
  plan: FaultPlan | null;
  onBegin?: (seen: Seen) => void;
  /** Called with the same object when the portal has answered and before the caller hears of it, or when the fault has been done. */
  onEnd?: (seen: Seen) => void;
}

export type Switchboard = Awaited<ReturnType<typeof openSwitchboard>>;

/** Opens a switchboard. Throws PortalPortError when it cannot listen. */
export const openSwitchboard = async (options: SwitchboardOptions) => {
  const counts = new Map<string, number>();
  let draws = drawsOf(options.plan ?? noFaults);
  const server = http.createServer({ keepAliveTimeout: 30_000, requestTimeout: 0 }, (incoming, reply) => {
    const { method = 'GET', url: path = '/' } = incoming;
    const draw = draws(method, path.split('?')[0] ?? path);
    const name = draw.fault?.fault ?? draw.before[0]?.fault ?? (draw.delayMs > 0 ? 'delay' : null);
    const seen: Seen = { method, path, status: null, fault: name };
    if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
    options.onBegin?.(seen);
    if (options.server?.site.closesConnections === true) closeAfter(reply);
    // A caller that cannot be answered sees the connection break, as when the portal is down.
    serve(options, { incoming, reply, seen }, draw).catch(() => reset(reply));
  });
  const { host = '127.0.0.1', port = 0 } = options;
  const url = await listenOn(server, once(server.listen(port, host), 'listening'), { host, port });
  return {
    url,
    /** Changes the rules; requests in progress keep theirs. Null passes everything. */
    setPlan: (plan: FaultPlan | null): void => {
      draws = drawsOf(plan ?? noFaults);
    },
    counts: (): Record<string, number> => Object.fromEntries(counts),
    /** Cuts all connections; idempotent. */
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const noFaults: FaultPlan = { seed: 1, rules: [] };

const actOn = async (server: SwitchboardOptions['server'], rule: SiteRule): Promise<void> => {
  if (server === undefined) return;
  if (rule.fault === 'end-sessions') return server.endSessions();
  if (rule.fault === 'cron') return server.runCron();
  server.site.maintenance = true;
  if (rule.lasts === undefined) return;
  setTimeout(() => {
    server.site.maintenance = false;
  }, durationMs(rule.lasts)).unref();
};

const serve = async (
  { target, server, onEnd }: SwitchboardOptions,
  { incoming, reply, seen }: { incoming: IncomingMessage; reply: ServerResponse; seen: Seen },
  { delayMs, before, fault }: Draw,
): Promise<void> => {
  await Promise.all(before.map((rule) => actOn(server, rule)));
  let passed: IncomingMessage | null = null;
  try {
    if (delayMs > 0) await sleep(delayMs);
    if (reply.destroyed) return; // the caller has gone
    if (fault !== null && isBefore(fault)) {
      for await (const _chunk of incoming); // read and dropped
      return answerWith(reply, fault, nothing);
    }
    const answer = await forward(incoming, target);
    seen.status = answer.statusCode ?? 0;
    if (fault === null) passed = answer;
    else answerWith(reply, fault, await answerOf(answer));
  } finally {
    onEnd?.(seen);
  }
  if (passed !== null) await passOn(passed, reply, incoming.complete);
};

/** True when the portal never hears of the request. */
const isBefore = (fault: FaultRule): boolean =>
  fault.fault === 'drop-request' ||
  ('when' in fault ? fault.when !== 'after' : ['status', 'hang', 'wrong-type'].includes(fault.fault));

/** What the caller gets in place of an answer of the portal. */
const answerWith = (reply: ServerResponse, fault: FaultRule, answer: Forwarded): void => {
  if (fault.fault === 'status') send(reply, statusAnswer(fault));
  else if (fault.fault === 'wrong-type') send(reply, maintenancePage);
  else if (fault.fault === 'paused') send(reply, { ...answer, body: pausedBody(answer.body) });
  else if (fault.fault === 'truncated-body') send(reply, { ...answer, body: halfOf(answer.body) });
  else if (fault.fault === 'reset-body') {
    const half = halfOf(answer.body);
    reply.writeHead(answer.status, answer.reason, { ...answer.headers, 'content-length': answer.body.length });
    reply.write(half.length > 0 ? half : ' ', () => reset(reply));
  } else if (fault.fault !== 'hang') reset(reply); // hang: nothing, until the caller gives up
};

const halfOf = (body: Buffer): Buffer => body.subarray(0, Math.floor(body.length / 2));

const reset = (reply: ServerResponse): void => void reply.socket?.resetAndDestroy();

interface Forwarded {
  status: number;
  reason: string;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

const nothing: Forwarded = { status: 502, reason: '', headers: {}, body: Buffer.alloc(0) };

const send = (reply: ServerResponse, { status, reason, headers, body }: Forwarded): void => {
  reply.writeHead(status, reason, { ...headers, 'content-length': body.length });
  reply.end(body);
};

/** Headers that are about one connection only (RFC 9110, 7.6.1). */
const perConnection = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect', 'upgrade', 'te', 'trailer']);

const carried = (headers: OutgoingHttpHeaders): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !perConnection.has(name)));

/** Sends the request to the portal; resolves with the head of its answer. Every request has a connection of its own. */
const forward = (incoming: IncomingMessage, target: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { method, url = '/' } = incoming;
    const headers = carried({ ...incoming.headers });
    const outgoing = http.request(new URL(url, target), { method, headers, agent: false }, resolve);
    outgoing.once('error', reject);
    // When a caller breaks off within its body, the portal sees the same.
    pipeline(incoming, outgoing).catch(reject);
  });

/** Reads an answer to its end: then the portal has done what was requested. */
const answerOf = async (answer: IncomingMessage): Promise<Forwarded> => ({
  status: answer.statusCode ?? 502,
  reason: answer.statusMessage ?? '',
  headers: carried({ ...answer.headers }),
  body: await buffer(answer),
});

const passOn = async (answer: IncomingMessage, reply: ServerResponse, isWhole: boolean): Promise<void> => {
  const headers = carried({ ...answer.headers });
  if (!isWhole) headers.connection = 'close'; // the portal answered before it had read everything
  reply.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers);
  await pipeline(answer, reply);
};

/** Messages of such portals by status (spec 7). */
const words: Record<number, string> = {
  401: 'CSRF validation failed',
  403: 'Access denied for user anonymous',
  406: 'Unknown or unsupported response format.',
  429: 'Too many requests.',
};

/** An error status as this API words it: the message as a list of one in the body, and in the status line. */
const statusAnswer = (rule: Extract<FaultRule, { fault: 'status' }>): Forwarded => {
  const { status, retryAfter } = rule;
  const message = rule.message ?? words[status] ?? 'Injected fault.';
  const headers = {
    'content-type': 'application/json',
    ...(retryAfter !== undefined && { 'retry-after': String(Math.ceil(durationMs(retryAfter) / 1000)) }),
  };
  const reason = message.replaceAll(/[^\x20-\x7e]/g, ' ');
  return { status, reason, headers, body: Buffer.from(JSON.stringify([message])) };
};

/** 200 with an HTML page, as some proxies and maintenance pages answer. */
const maintenancePage: Forwarded = {
  status: 200,
  reason: 'OK',
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: Buffer.from(
    '<!DOCTYPE html><html><head><title>Site under maintenance</title></head><body>Soon back.</body></html>\n',
  ),
};

/** A datastore status that says "paused" (5) in `data_import`, in JSON or YAML. */
const pausedBody = (body: Buffer): Buffer =>
  Buffer.from(body.toString('utf8').replaceAll(/(\bdata_import["']?\s*:\s*["']?)\d+/g, (_all, head) => `${head}5`));
