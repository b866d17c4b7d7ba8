// Kills a portal again and again amid mixed writes, and looks at what it kept.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ProfileName } from '../../src/embedded-portal/portal.ts';
import { startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../src/model/log.ts';
import { startPortalChild } from './portal-process.ts';

const account = { name: 'writer', password: 'pass', roles: ['editor'] };

/** What the portal acknowledged of one node, as last told. */
interface Told {
  title: string;
  /** Content of the file that was attached last. */
  file: string | null;
  /** True while a request about it is in progress: then the new state counts as well as the old one. */
  pending: Told | 'deleted' | null;
  deleted: boolean;
}

/** What a run of kills came to; `faults` is empty when nothing was lost, half or left over. */
export interface Survival {
  kills: number;
  acknowledged: number;
  faults: string[];
}

interface Session {
  url: string;
  headers: Record<string, string>;
}

const send = async (
  { url, headers }: Session,
  method: string,
  path: string,
  body?: string | FormData,
): Promise<string> => {
  const type: Record<string, string> = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
  const reply = await fetch(`${url}${path}`, {
    method,
    headers: { accept: 'application/json', ...headers, ...type },
    ...(body === undefined ? {} : { body }),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
  return text;
};

const enter = async (url: string): Promise<Session> => {
  const body = JSON.stringify({ username: account.name, password: account.password });
  const { session_name, sessid, token } = JSON.parse(
    await send({ url, headers: {} }, 'POST', '/api/dataset/user/login', body),
  ) as Record<string, string>; // the portal's own answer
  return { url, headers: { cookie: `${session_name}=${sessid}`, 'x-csrf-token': token ?? '' } };
};

/** A new title as the release takes it: the editing form of 7.14 wants the file again, with how its preview is shown. */
const renaming = (title: string, fid: string, profile: ProfileName): object =>
  profile === 'dkan-7.14'
    ? { title, field_upload: { und: [{ fid, view: { grid: '0', graph: '0', map: '0' }, embed: '0' }] } }
    : { title };

/** One writer: creates, updates, attaches, deletes, until the portal is gone. */
const write = async (
  session: Session,
  told: Map<string, Told>,
  { seed, profile, count }: { seed: number; profile: ProfileName; count: () => void },
) => {
  for (let number = 0; ; number += 1) {
    const title = `Node ${seed}-${number}`;
    const made = await send(session, 'POST', '/api/dataset/node', JSON.stringify({ type: 'resource', title }));
    const { nid } = JSON.parse(made) as { nid: string };
    const state: Told = { title, file: null, pending: null, deleted: false };
    told.set(nid, state);
    count();
    const change = async (next: Told | 'deleted', work: () => Promise<unknown>): Promise<void> => {
      state.pending = next;
      await work();
      if (next === 'deleted') state.deleted = true;
      else Object.assign(state, next);
      state.pending = null;
      count();
    };
    let fid = '';
    for (const version of [0, 1]) {
      const file = `a,b\n${title},${version}\n`;
      await change({ ...state, pending: null, file }, async () => {
        const form = new FormData();
        form.set('attach', '0');
        form.set('field_name', 'field_upload');
        form.set('files[1]', new Blob([file], { type: 'text/csv' }), `t${seed}-${number}.csv`);
        const attached = await send(session, 'POST', `/api/dataset/node/${nid}/attach_file`, form);
        fid = (JSON.parse(attached) as { fid: string }[])[0]?.fid ?? '';
      });
    }
    const renamed = `${title} again`;
    await change({ ...state, pending: null, title: renamed }, () =>
      send(session, 'PUT', `/api/dataset/node/${nid}`, JSON.stringify(renaming(renamed, fid, profile))),
    );
    if (number % 3 === 0) await change('deleted', () => send(session, 'DELETE', `/api/dataset/node/${nid}`));
  }
};

const round = async (
  dataDir: string,
  told: Map<string, Told>,
  { seed, killAt, profile }: { seed: number; killAt: number; profile: ProfileName },
) => {
  // Without races: saves that the database refuses would end the writers before the kill does.
  const portal = await startPortalChild(dataDir, { users: [account], profile, races: false });
  const session = await enter(portal.url);
  let acknowledged = 0;
  const count = (): void => {
    acknowledged += 1;
    if (acknowledged === killAt) portal.child.kill('SIGKILL');
  };
  const writers = [0, 1, 2, 3].map((writer) => write(session, told, { seed: seed * 10 + writer, profile, count }));
  const [ended] = await Promise.allSettled(writers);
  if (acknowledged < killAt) {
    portal.child.kill('SIGKILL');
    if (ended?.status === 'rejected') throw ended.reason;
  }
  await portal.exited;
  return acknowledged;
};

const matches = (told: Told, is: { title: string; file: string | null } | null): boolean => {
  if (is === null) return told.deleted || told.pending === 'deleted';
  if (told.deleted) return false;
  const fits = (one: Told): boolean => one.title === is.title && one.file === is.file;
  return fits(told) || (told.pending !== null && told.pending !== 'deleted' && fits(told.pending));
};

const lookAtNode = async (session: Session, nid: string): Promise<{ title: string; file: string | null } | null> => {
  const reply = await fetch(`${session.url}/api/dataset/node/${nid}.json`, { headers: session.headers });
  if (reply.status === 404) {
    await reply.body?.cancel();
    return null;
  }
  const node = (await reply.json()) as { title: string; field_upload: { und?: { uri: string }[] } };
  const name = node.field_upload.und?.[0]?.uri.replace('public://', '');
  const file = name === undefined ? null : await send(session, 'GET', `/sites/default/files/${name}`);
  return { title: node.title, file };
};

/** Serves the store once more and compares it with what was reported; then looks for damage and leftovers. */
const inspect = async (dataDir: string, told: Map<string, Told>, profile: ProfileName): Promise<string[]> => {
  const faults: string[] = [];
  const server = await startPortalServer({ dataDir, profile, log: createLog({ level: 'silent' }) });
  const session = await enter(server.url);
  for (const [nid, state] of told) {
    const is = await lookAtNode(session, nid);
    if (!matches(state, is)) faults.push(`node ${nid}: told ${JSON.stringify(state)}, is ${JSON.stringify(is)}`);
  }
  await server.close();
  const db = new DatabaseSync(join(dataDir, 'portal.db'));
  const check = db.prepare('PRAGMA integrity_check').all();
  if (JSON.stringify(check) !== '[{"integrity_check":"ok"}]') faults.push(`integrity_check: ${JSON.stringify(check)}`);
  const files = new Set(
    db
      .prepare('SELECT uuid FROM file')
      .all()
      .map(({ uuid }) => String(uuid)),
  );
  const tables = new Set(
    db
      .prepare('SELECT table_file AS t FROM datastore WHERE table_file IS NOT NULL')
      .all()
      .map(({ t }) => String(t)),
  );
  db.close();
  for (const name of readdirSync(join(dataDir, 'files'))) if (!files.delete(name)) faults.push(`orphan file ${name}`);
  for (const name of profile === 'spec' ? readdirSync(join(dataDir, 'tables')) : [])
    if (!tables.delete(name)) faults.push(`orphan table ${name}`);
  faults.push(...[...files, ...tables].map((name) => `missing ${name}`));
  return faults;
};

/** Kills a portal of a profile on `dataDir` with SIGKILL `kills` times, each after some more acknowledged writes. */
export const survive = async (
  dataDir: string,
  {
    kills,
    profile = 'spec',
    say = () => undefined,
  }: { kills: number; profile?: ProfileName; say?: (line: string) => void },
): Promise<Survival> => {
  const told = new Map<string, Told>();
  let acknowledged = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    acknowledged += await round(dataDir, told, { seed: kill, killAt: 5 + ((kill * 37) % 50), profile });
    if (kill % 20 === 19) say(`${kill + 1} kills, ${acknowledged} acknowledged writes`);
  }
  return { kills, acknowledged, faults: await inspect(dataDir, told, profile) };
};
