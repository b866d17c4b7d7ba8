// `POST /runs`: other programs request a run of a manifest, with a token.
import { z } from 'zod';
import { machineFault, NotFoundError, reasonOf, SluiceError } from '../model/errors.ts';
import { idPattern } from '../model/key.ts';
import { driftPolicies } from '../model/policy.ts';
import { type RequestedRun, runNow } from '../service/actions.ts';
import { manifestNamed } from '../service/manifests.ts';
import type { Runtime } from '../service/runtime.ts';
import { needRedis } from './monitoring.ts';
import { tryToken, type WebPart } from './part.ts';

const requestSchema = z.strictObject({
  /** Name of a known manifest; a path would let a program read any file of this host. */
  manifest: z.string().regex(idPattern),
  /** One of its portals; all of them when left out. */
  portal: z.string().exactOptional(),
  onDrift: z.enum(driftPolicies).exactOptional(),
  refresh: z.boolean().default(false),
});

/** Answers 202 with the runs that were requested, as `sluice run-now --no-wait --json` prints them. */
export const runsPart: WebPart = (app, context) => {
  const { runtime } = context;
  const limit = perMinute(60);
  app.setErrorHandler((thrown: Error & { statusCode?: number }, _request, reply) => {
    const error = machineFault(thrown);
    if (error instanceof SluiceError) return reply.code(statusOf(error)).send({ error: reasonOf(error) });
    const status = thrown.statusCode ?? 500;
    if (status >= 500) runtime.log.error({ err: thrown, path: '/runs' }, 'a request failed');
    const message = status >= 500 ? 'something went wrong' : thrown.message;
    return reply.code(status).send({ error: { code: 'usage', message, hint: null } });
  });
  app.post('/runs', {
    onRequest: async (request, reply) => {
      const tried = tryToken(request, context);
      const waitS = tried === 'right' ? limit() : tried === 'wrong' ? 0 : Math.ceil(tried / 1000);
      const refuse = (status: number, message: string, hint: string | null = null) =>
        reply.code(status).send({ error: { code: 'usage', message, hint } });
      if (waitS > 0) return refuse(429, 'too many requests').header('retry-after', waitS);
      if (tried === 'right') return;
      reply.header('www-authenticate', 'Bearer');
      const hint = 'send `Authorization: Bearer TOKEN` with that of `web.token`';
      return refuse(401, 'the token is missing or wrong', hint);
    },
    preHandler: () => needRedis(runtime),
    handler: async (request, reply) => {
      const asked = requestSchema.safeParse(request.body);
      if (asked.success) return reply.code(202).send({ runs: await requestRuns(runtime, asked.data) });
      const [issue] = asked.error.issues;
      const message = `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'not understood'}`;
      return reply.code(400).send({ error: { code: 'usage', message, hint: 'such as {"manifest": "city-finance"}' } });
    },
  });
};

const requestRuns = async (
  runtime: Runtime,
  { manifest: name, portal, onDrift, refresh }: z.output<typeof requestSchema>,
): Promise<RequestedRun[]> => {
  const manifest = await manifestNamed(runtime, name);
  const more = { onDrift: onDrift ?? null, refresh };
  if (portal === undefined) return runNow(runtime, manifest, more);
  if (runtime.perPortal(manifest).some((target) => target.portal === portal))
    return runNow(runtime, { ...manifest, portal, portals: [portal] }, more);
  throw new NotFoundError(`${name} is not published to a portal "${portal}"`);
};

const statusOf = ({ code, retryable }: SluiceError): number => (code === 'not-found' ? 404 : retryable ? 503 : 422);

/** Counts calls; returns 0, or in how many seconds the next one is allowed. */
const perMinute = (most: number): (() => number) => {
  let [count, until] = [0, 0];
  return () => {
    const now = Date.now();
    if (now >= until) [count, until] = [0, now + 60_000];
    count += 1;
    return count <= most ? 0 : Math.ceil((until - now) / 1000);
  };
};
