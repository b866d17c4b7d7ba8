// A proxy before a portal that passes requests on and injects faults by rules: what a portal or a network does at its worst.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { portTaken, surviveErrors, urlOf } from '../connections.ts';
import {
  answerOf,
  type Forwarded,
  forward,
  passOn,
  pausedBody,
  plainAnswer,
  sendHalf,
  sendWhole,
  statusAnswer,
} from './replies.ts';
import { Draws, type FaultPlan, type FaultRule } from './rules.ts';

/** A request that came through; `status` is what the portal answered, null when it was not asked or did not answer. */
export interface Seen {
  method: string;
  /** Path and query. */
  path: string;
  status: number | null;
  /** Name of the fault it met, null for none. */
  fault: FaultRule['fault'] | null;
}

/** How a switchboard is opened. */
export interface SwitchboardOptions {
  /** Address of the portal behind it. */
  target: string;
  /** 127.0.0.1 when absent. */
  host?: string;
  /** 0 (default) takes a free one. */
  port?: number;
  /** Null passes everything. */
  plan: FaultPlan | null;
  /** Called when a request has come in. */
  onBegin?: (seen: Seen) => void;
  /** Called with the same object when the portal has answered and before the caller hears of it, or when the fault has been done. */
  onEnd?: (seen: Seen) => void;
}

/** An open switchboard. */
export interface Switchboard {
  /** Address without a slash at the end. */
  url: string;
  /** Changes the rules; requests under way keep theirs. Null passes everything. */
  setPlan(plan: FaultPlan | null): void;
  /** How often each fault was injected. */
  counts(): Record<string, number>;
  /** Cuts all connections; idempotent. */
  close(): Promise<void>;
}

/** Opens a switchboard. Throws PortalPortError when it cannot listen. */
export const openSwitchboard = async (options: SwitchboardOptions): Promise<Switchboard> => {
  const counts = new Map<string, number>();
  let draws = options.plan === null ? null : new Draws(options.plan);
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 0 }, (incoming, reply) => {
    const method = incoming.method ?? 'GET';
    const path = incoming.url ?? '/';
    const { delayMs, fault } = draws?.next(method, path.split('?')[0] ?? path) ?? { delayMs: 0, fault: null };
    const seen: Seen = { method, path, status: null, fault: fault?.fault ?? (delayMs > 0 ? 'delay' : null) };
    if (seen.fault) counts.set(seen.fault, (counts.get(seen.fault) ?? 0) + 1);
    options.onBegin?.(seen);
    const exchange: Exchange = {
      incoming,
      reply,
      target: options.target,
      seen,
      onEnd: onlyOnce(() => options.onEnd?.(seen)),
    };
    // Whoever cannot be answered sees the connection break, as with a portal that is gone.
    serve(exchange, delayMs, fault).catch(() => reset(reply));
  });
  const url = await listen(server, options.host ?? '127.0.0.1', options.port ?? 0);
  return {
    url,
    setPlan: (plan) => {
      draws = plan === null ? null : new Draws(plan);
    },
    counts: () => Object.fromEntries(counts),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

interface Exchange {
  incoming: IncomingMessage;
  reply: ServerResponse;
  target: string;
  seen: Seen;
  onEnd: () => void;
}

const serve = async (exchange: Exchange, delayMs: number, fault: FaultRule | null): Promise<void> => {
  const { reply, seen, onEnd } = exchange;
  try {
    if (delayMs > 0) await sleep(delayMs);
    if (reply.destroyed) return; // the caller is gone, and the request with him
    if (fault === null) {
      await pass(exchange);
      return;
    }
    if (isBefore(fault)) {
      for await (const _chunk of exchange.incoming); // taken in, and lost
      instead(reply, fault);
      return;
    }
    const answer = await answerOf(await forward(exchange.incoming, exchange.target));
    seen.status = answer.status;
    afterwards(reply, fault, answer);
  } finally {
    onEnd();
  }
};

/** True when the portal never hears of the request. */
const isBefore = (fault: FaultRule): boolean => {
  if (fault.fault === 'drop-request') return true;
  return (fault.fault === 'status' || fault.fault === 'hang' || fault.fault === 'wrong-type') && fault.when !== 'after';
};

const pass = async ({ incoming, reply, target, seen, onEnd }: Exchange): Promise<void> => {
  const answer = await forward(incoming, target);
  seen.status = answer.statusCode ?? 0;
  onEnd();
  await passOn(answer, reply, incoming.complete);
};

/** What comes in the portal's place. */
const instead = (reply: ServerResponse, fault: FaultRule): void => {
  if (fault.fault === 'status') statusAnswer(reply, fault);
  else if (fault.fault === 'wrong-type') plainAnswer(reply);
  else if (fault.fault === 'drop-request') reset(reply);
  // `hang`: nothing, until the caller gives up.
};

/** What becomes of an answer that the portal has given. */
const afterwards = (reply: ServerResponse, fault: FaultRule, answer: Forwarded): void => {
  switch (fault.fault) {
    case 'drop-reply':
      reset(reply);
      break;
    case 'reset-body':
      sendHalf(reply, answer, () => reset(reply));
      break;
    case 'truncated-body':
      sendHalf(reply, answer, null);
      break;
    case 'paused':
      sendWhole(reply, { ...answer, body: pausedBody(answer.body) });
      break;
    default:
      instead(reply, fault);
  }
};

const onlyOnce = (call: () => void): (() => void) => {
  let isDone = false;
  return () => {
    if (!isDone) call();
    isDone = true;
  };
};

const reset = (reply: ServerResponse): void => {
  reply.socket?.resetAndDestroy();
};

const listen = async (server: Server, host: string, port: number): Promise<string> => {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (cause) {
    throw portTaken(host, port, cause as Error);
  }
  surviveErrors(server);
  return urlOf(server, host);
};
