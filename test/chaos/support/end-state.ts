// What a run has left behind, without what differs from run to run: the portal as its readers see it, ledger, reports, queue, inbox.

import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { redisKeys, targetName } from '../../../src/model/redis-keys.ts';
import type { Report } from '../../../src/model/report.ts';
import { ledgerIn } from '../../../src/state/ledger.ts';
import { runsIn } from '../../../src/state/runs.ts';
import type { CrashSite } from './crash-site.ts';

/** Facts by name, each as JSON: two runs that did the same have the same. */
export type EndState = Record<string, string>;

const keys = redisKeys('sluice');
const targets = ['city', 'inbox'].map((manifest) => ({ manifest, portal: 'local' }));

/** Runs that have a record, newest last. */
export const knownRuns = (site: CrashSite): Promise<string[]> => site.redis.zrange(keys.runs, '0', '-1');

/** True while a run is in progress or waits. */
export const isOpen = async (site: CrashSite): Promise<boolean> => {
  const open = await Promise.all(targets.map((target) => site.redis.hexists(keys.gates, targetName(target))));
  return open.some((count) => count > 0);
};

/** Reads everything; `before` are the runs that are not to be checked. */
export const endStateOf = async (site: CrashSite, before: ReadonlySet<string>): Promise<EndState> => {
  const { nodes, uuids } = await portalState(site);
  const state: EndState = { ...nodes };
  const put = (name: string, value: unknown): void => {
    state[name] = JSON.stringify(plain(value, uuids));
  };
  for (const [name, value] of Object.entries(storeState(site))) put(name, value);
  const closed: string[] = [];
  for (const target of targets) {
    const ledger = ledgerIn(site.redis, keys);
    const entries = await ledger.entries(target);
    for (const [key, entry] of entries) put(`ledger ${key}`, entry);
    const sent = await site.redis.hkeys(keys.sent(target));
    for (const key of sent) put(`sent ${key}`, await ledger.sentFor(target.portal, key));
    for (const key of await site.redis.hkeys(keys.history(target)))
      put(`history ${key}`, await ledger.formerVersions(target.portal, key));
    put(`gate ${target.manifest}`, await site.redis.hget(keys.gates, targetName(target)));
    const [first, ...others] = await reportsOf(site, before, target.manifest);
    closed.push(...[first, ...others].flatMap((report) => report?.runId ?? []));
    put(`report ${target.manifest}`, first ?? null);
    put(
      `done twice ${target.manifest}`,
      others.filter(({ counts }) => Object.keys(counts.actions).length > 0),
    );
  }
  // A job that was killed once its end was written has nothing left to do, and its run may be closed: the next worker ends it.
  const isOver = (name: string): boolean =>
    name.startsWith('active ') || (name.startsWith('wait ') && closed.some((id) => name.includes(`:${id}`)));
  put(
    'queue',
    (await queueState(site)).filter((name) => !isOver(name)),
  );
  // What a dead watcher says of itself stays until the next one looks at the spool.
  put(
    'inbox',
    filesBelow(join(site.dir, 'inbox')).filter((name) => !name.includes('/.owners/')),
  );
  put('state folder', filesBelow(join(site.dir, 'state')));
  return state;
};

/** Where a run that does not close stands: its gates, and its jobs with what the engine knows of them. */
export const standOf = async (site: CrashSite): Promise<string[]> => {
  const gates = targets.map(
    async (target) =>
      `gate ${target.manifest}: ${JSON.stringify(await site.redis.hget(keys.gates, targetName(target)))}`,
  );
  const jobs = (await queueState(site)).map(async (name) => {
    const job = await site.redis.hgetall(`sluice:${name.split(' ')[1]}`);
    return `job ${name}: ${JSON.stringify({ ...job, data: job.data?.slice(0, 300) })}`;
  });
  return Promise.all([...gates, ...jobs]);
};

/** What differs, one line each. */
export const differencesOf = (expected: EndState, found: EndState): string[] =>
  [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort().flatMap((name) => {
    const [was, is] = [expected[name] ?? 'nothing', found[name] ?? 'nothing'];
    return was === is ? [] : [`${name}: ${cut(was, is)}`];
  });

/** Both texts from where they part. */
const cut = (was: string, is: string): string => {
  let at = 0;
  while (at < was.length && was[at] === is[at]) at += 1;
  const part = (text: string): string => text.slice(Math.max(0, at - 40), at + 400);
  return `expected …${part(was)}… found …${part(is)}…`;
};

const portalState = async (site: CrashSite): Promise<{ nodes: EndState; uuids: Map<string, string> }> => {
  const reader = await site.reader();
  const rows = await reader.list();
  const uuids = new Map(rows.map(({ nid, uuid }) => [nid, uuid]));
  const nodes: EndState = {};
  for (const { nid, uuid, type, title } of rows) {
    const node = await reader.read(nid);
    const file = type === 'resource' ? await reader.file(nid) : null;
    const records = type === 'resource' ? await reader.records(uuid) : null;
    const name = `${type} ${title}`;
    const content = file && { name: file.name, content: file.content };
    nodes[name in nodes ? `${name} again` : name] = JSON.stringify(plain({ node, content, records }, uuids));
  }
  return { nodes, uuids };
};

/** What readers do not see: revisions made, and files and terms that nothing refers to. */
const storeState = ({ store }: CrashSite): Record<string, unknown> => {
  const db = new DatabaseSync(join(store, 'portal.db'), { readOnly: true });
  try {
    const all = (sql: string): unknown[] => db.prepare(sql).all();
    return {
      revisions: all(
        'SELECT uuid, count(*) AS revisions FROM node JOIN revision USING (nid) GROUP BY uuid ORDER BY uuid',
      ),
      files: all(
        'SELECT filename, sha256, count(*) AS files FROM file GROUP BY filename, sha256 ORDER BY filename, sha256',
      ),
      terms: all('SELECT vocabulary, name FROM term ORDER BY vocabulary, name'),
      'files without a node': all('SELECT name FROM file WHERE fid NOT IN (SELECT fid FROM file_usage) ORDER BY name'),
    };
  } finally {
    db.close();
  }
};

/** Reports of runs that were not there before, in their order. */
const reportsOf = async (site: CrashSite, before: ReadonlySet<string>, manifest: string): Promise<Report[]> => {
  const reports: Report[] = [];
  for (const id of await knownRuns(site)) {
    const report = before.has(id) ? null : await runsIn(site.redis, keys, 0).report(id);
    if (report?.manifest === manifest) reports.push({ ...report, items: [...report.items] });
  }
  return reports.sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
};

/** Jobs that have not ended or not been removed, as `<list> <queue>:<id>`. */
const queueState = async ({ redis }: CrashSite): Promise<string[]> => {
  const lists = [
    ...['active', 'wait', 'paused'].map((list) => ({ list, read: (key: string) => redis.lrange(key, 0, -1) })),
    ...['delayed', 'prioritized', 'waiting-children', 'failed', 'completed'].map((list) => ({
      list,
      read: (key: string) => redis.zrange(key, '0', '-1'),
    })),
  ];
  const left: string[] = [];
  for (const queue of ['runs', 'portal.local']) {
    for (const { list, read } of lists) {
      if (queue === 'runs' && list === 'completed') continue; // kept for some days
      for (const id of await read(`sluice:${queue}:${list}`)) left.push(`${list} ${queue}:${id}`);
    }
  }
  return left;
};

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(stamps, '#'))
    .sort();

/** Ids of claims, and the times in names of archived files. */
const stamps = /\d{13}-[0-9a-f]{8}|\d{8}T\d{6}\.\d{3}Z/g;

/** Differs from run to run: numbers that are given out in the order of writes, times, and what merely tells how it went. */
const passing = new Set(
  'nid vid vuuid fid uid changed created timestamp revision_timestamp runId startedAt endedAt ms attempts jobId hashedAt mtimeNs ctimeNs ino syncedAt missingSince log etag lastModified at'.split(
    ' ',
  ),
);

/** A value without what differs from run to run; numbers of nodes become their uuids. */
const plain = (value: unknown, uuids: ReadonlyMap<string, string>, name = ''): unknown => {
  if (Array.isArray(value)) return value.map((each) => plain(each, uuids, name));
  if (typeof value === 'string') {
    if (name === 'target_id' || name === 'links') return uuids.get(value) ?? value;
    const named = value.replace(/(\/node\/)(\d+)/g, (_, path: string, nid: string) => path + (uuids.get(nid) ?? nid));
    return named.replaceAll(stamps, '#');
  }
  if (typeof value !== 'object' || value === null) return value;
  const isFile = 'fid' in value && 'uri' in value; // its uuid is drawn by the portal
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !passing.has(key) && !(isFile && key === 'uuid'))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, plain(each, uuids, key)]),
  );
};
