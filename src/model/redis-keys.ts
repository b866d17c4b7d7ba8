// Names of our own Redis keys; the engine's keys share the prefix but are below its queue names.

/** A manifest on a portal, the unit that is run, scheduled and remembered. */
export type Target = { manifest: string; portal: string };

export type KnownTarget = Target & { manifestPath: string };

/** Name of a target as it is in keys, ids and texts: `<manifest>@<portal>`. */
export const targetName = ({ manifest, portal }: Target): string => `${manifest}@${portal}`;

/** The target of a name that {@link targetName} made; its parts are empty where they are missing. */
export const targetOfName = (name: string): Target => {
  const [manifest = '', portal = ''] = name.split('@');
  return { manifest, portal };
};

/** Layout of what the keys hold. A key that every state has bears it in its name, so that one of another layout is noticed. */
const layout = 3;

/** Every Redis key that sluice itself writes, under a prefix. */
export const redisKeys = (prefix: string) => ({
  entries: (target: Target) => `${prefix}.ledger:${targetName(target)}`,
  /** Hash: target name -> when it was last compared with the portal's own listing, Unix milliseconds. */
  refreshed: `${prefix}.refreshed`,
  /** Hash: target name -> address of the portal that its ledger describes. */
  addresses: `${prefix}.addresses`,
  /** Hash: key -> what we sent last for the node (JSON). */
  sent: (target: Target) => `${prefix}.sent:${targetName(target)}`,
  /** Hash: key -> former versions of its table (JSON). */
  history: (target: Target) => `${prefix}.history:${targetName(target)}`,
  /** A stored plan (JSON) that a run is pinned to. */
  plan: (id: string) => `${prefix}.plan:${id}`,
  /** Hash: target name -> the run that a guard holds (JSON). */
  held: `${prefix}.held`,
  /** Hash: run id -> when it was cancelled (Unix milliseconds), until it has closed. */
  cancelled: `${prefix}.cancelled`,
  /** Hash: target name -> absolute path of its manifest, of every target that was ever run. */
  targets: `${prefix}.targets-${layout}`,
  /** Keys by which the states of other layouts are known. */
  otherLayouts: ['', `-${layout - 1}`, `-${layout + 1}`].map((ending) => `${prefix}.targets${ending}`),
  /** Hash: the request of a run, its phase, what its plan came to, and its report. */
  run: (runId: string) => `${prefix}.run:${runId}`,
  /** Hash: key -> planned work (wish and plan, JSON). */
  runWork: (runId: string) => `${prefix}.work:${runId}`,
  /** Sorted set: what has not ended, a dataset or a table to prove -> number of its job. */
  runOpen: (runId: string) => `${prefix}.open:${runId}`,
  /** Hash: key -> item of the report (JSON), of every item that has ended. */
  runLines: (runId: string) => `${prefix}.lines:${runId}`,
  /** Hash: key -> what was done so far to an item that has not ended (JSON). */
  runBegun: (runId: string) => `${prefix}.begun:${runId}`,
  /** Hash: key -> outcome, of the items that failed. */
  runFailures: (runId: string) => `${prefix}.failures:${runId}`,
  /** Hash: claim id of a dropped file -> what becomes of it, or the key of its resource (JSON). */
  runDrops: (runId: string) => `${prefix}.drops:${runId}`,
  runs: `${prefix}.runs`,
  /** Is never there: what asks whether writes are taken names it. */
  nothing: `${prefix}.nothing`,
  /** Hash: portal -> what it made of a dropped file that goes to several portals (JSON). */
  verdicts: (claim: string) => `${prefix}.verdicts:${claim}`,
  /** Hash: target name -> what its schedule did last (JSON). */
  triggers: `${prefix}.triggers`,
  /** Hash: target name -> how its last run ended (JSON). */
  lastRuns: `${prefix}.last-runs`,
  /** Hash: target name -> when its last successful run ended, Unix milliseconds. */
  lastSuccesses: `${prefix}.last-successes`,
  /** Hash: target name -> the run that holds its gate, and the one that waits for it (JSON). */
  gates: `${prefix}.current-runs`,
  /** List: log lines of a run, by its id, or of its work on an item, by `itemId`. */
  log: (id: string) => `${prefix}.log:${id}`,
  /** Held by the job that does work of which the portal takes one piece at a time. */
  exclusive: (name: string) => `${prefix}.exclusive:${name}`,
  /** Hash: facts about a portal shared by all workers (dialect, pause, circuit breaker). */
  portal: (portal: string) => `${prefix}.portal:${portal}`,
  /** Held by the worker that looks whether a portal is down. */
  looking: (portal: string) => `${prefix}.looking:${portal}`,
  /** Hash: `<vocabulary> <name>` -> id of that term at the address of a portal. */
  terms: (portal: string, url: string) => `${prefix}.terms:${portal} ${url}`,
  /** Hash: target name -> its open incident (JSON); portal name with `@` before it -> what was reported last. */
  incidents: `${prefix}.incidents`,
  /** Sorted set: what is expected -> by when it must happen again, Unix milliseconds. */
  deadlines: `${prefix}.deadlines`,
  /** Hash: what was reported as overdue, and not yet as over -> the deadline that it missed, Unix milliseconds. */
  overdue: `${prefix}.overdue`,
  /** Hash: what is expected -> the form in which it was announced: a period in milliseconds, a schedule, a folder. */
  expected: `${prefix}.expected`,
  /** Hash: token bucket of a portal. */
  bucket: (portal: string) => `${prefix}.bucket:${portal}`,
  workers: `${prefix}.workers`,
  /** Hash: `<host> <pid>` of a service -> what it serves, as members of what is expected. */
  services: `${prefix}.services`,
  /** Id that pairs spool folders with this Redis. */
  spoolId: `${prefix}.spool-id`,
  /** Hash: state of the inbox watchers, by manifest. */
  inboxes: `${prefix}.inboxes`,
});

export type RedisKeys = ReturnType<typeof redisKeys>;
