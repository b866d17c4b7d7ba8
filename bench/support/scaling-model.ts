// How many files a second workers publish together, by the limits alone: a simulation without processes or network.

/** A portal, the work and the workers. */
export interface Scale {
  workers: number;
  files: number;
  /** Requests that publish one file, on average. */
  requests: number;
  /** Processor time that a worker needs for one file, milliseconds; spread over its requests. */
  workMs: number;
  /** Time in which the portal answers, milliseconds. */
  latencyMs: number;
  /** Limits of the portal, over all workers; no rate where it is 0. */
  concurrency: number;
  requestsPerSecond: number;
}

/** What came of it. */
export interface Scaled {
  filesPerSecond: number;
  /** Most requests that were under way together. */
  atOnce: number;
}

interface Job {
  worker: number;
  /** When its next request gets ready, milliseconds. */
  at: number;
  left: number;
}

/**
 * Publishes files as src/service/portal-workers.ts shares them out: a worker that has the portal to itself works on three
 * times as many jobs as the portal takes requests (twice where a rate bounds it), and its client bounds the requests; several
 * workers share the jobs themselves. Before each request a job waits for its worker's processor, then for the bucket of the
 * portal that all share.
 */
export const simulate = (scale: Scale): Scaled => {
  const { workers, files, requests, workMs, latencyMs, concurrency, requestsPerSecond } = scale;
  const jobsAtOnce = workers > 1 || concurrency === 1 ? concurrency : concurrency * (requestsPerSecond === 0 ? 3 : 2);
  const ofWorker = Math.ceil(jobsAtOnce / workers);
  const processorFree = new Array<number>(workers).fill(0);
  const active = new Array<number>(workers).fill(0);
  const lines = new Array<number>(concurrency).fill(0); // when each of the requests that may be under way ends
  const sent: { from: number; to: number }[] = [];
  const jobs: Job[] = [];
  let [waiting, nextToken, end] = [files, 0, 0];

  /** So many for the nth file that the average is met. */
  const requestsOf = (nth: number): number =>
    Math.max(1, Math.floor(nth * requests) - Math.floor((nth - 1) * requests));

  const begin = (at: number): void => {
    const worker = active.indexOf(Math.min(...active));
    if (waiting === 0 || (active[worker] ?? 0) >= ofWorker) return;
    waiting -= 1;
    active[worker] = (active[worker] ?? 0) + 1;
    jobs.push({ worker, at, left: requestsOf(files - waiting) });
  };
  for (let index = 0; index < jobsAtOnce; index++) begin(0);

  while (jobs.length > 0) {
    const job = jobs.reduce((first, each) => (each.at < first.at ? each : first));
    const computed = Math.max(job.at, processorFree[job.worker] ?? 0) + workMs / requests;
    processorFree[job.worker] = computed;
    const allowed = requestsPerSecond === 0 ? computed : Math.max(computed, nextToken);
    if (requestsPerSecond > 0) nextToken = allowed + 1000 / requestsPerSecond;
    const line = lines.indexOf(Math.min(...lines));
    const from = Math.max(allowed, lines[line] ?? 0);
    lines[line] = from + latencyMs;
    sent.push({ from, to: from + latencyMs });
    job.at = from + latencyMs;
    job.left -= 1;
    if (job.left > 0) continue;
    end = Math.max(end, job.at);
    jobs.splice(jobs.indexOf(job), 1);
    active[job.worker] = (active[job.worker] ?? 0) - 1;
    begin(job.at);
  }
  return { filesPerSecond: (files * 1000) / end, atOnce: mostAtOnce(sent) };
};

const mostAtOnce = (sent: readonly { from: number; to: number }[]): number => {
  // What ends at the moment another one begins is not under way with it.
  const changes = sent.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ]);
  changes.sort((x, y) => x.at - y.at || x.by - y.by);
  let [now, most] = [0, 0];
  for (const { by } of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
};
