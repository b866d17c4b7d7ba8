// `sluice demo`: the main job from end to end in a temporary folder, proven by reading everything back.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/load.ts';
import { UnfinishedError } from '../model/errors.ts';
import { createLog } from '../model/log.ts';
import type { ReportItem, StoredReport } from '../model/report.ts';
import type { Portal } from '../portal-client/client.ts';
import { openRuntime, type Runtime } from '../service/runtime.ts';
import { loadManifest } from '../sources/manifest/load.ts';
import { makeFolder } from '../util/files.ts';
import { plural } from '../util/plural.ts';
import type { CommandDeclarations } from './declaration.ts';
import { exitCodes, type Io, say, stopped, warn } from './io.ts';
import { publish } from './publish.ts';
import { aligned, reasonLines } from './text.ts';

const ownJobs = fileURLToPath(new URL('../../jobs', import.meta.url));

/** Runs the demo; 0 when exactly the planted fault fails. */
export const demoCommand = async (options: { keep?: boolean }, io: Io): Promise<number> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-demo-'));
  const { REDIS_URL: _external, ...env } = io.env; // the demo never uses a Redis of others
  const config = await loadConfig({ file: undefined, cwd: folder, env, stateDir: 'state' });
  const log = createLog({ level: 'error', destination: io.stderr, pretty: io.terminal });
  const runtime = await openRuntime({ config, log, env, role: 'demo', report: (line) => warn(io, `sluice: ${line}`) });
  say(io, `sluice demo in ${folder}`);
  try {
    const fine = await play(runtime, folder, io);
    if (options.keep) {
      say(io, `\nRunning until Ctrl-C: ${runtime.portals.addressOf('local')}, all files in ${folder}`);
      for (const { password } of runtime.portals.newAdminPasswords())
        say(io, `log in as admin with the password ${password}`);
      await stopped(io);
    } else say(io, 'The portal ends with the demo; with `--keep` it stays, to be looked at in a browser.');
    return fine ? exitCodes.ok : exitCodes.someFailed;
  } finally {
    await runtime.close(io.stop.aborted && !options.keep);
    if (!options.keep) await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
};

const play = async (runtime: Runtime, folder: string, io: Io): Promise<boolean> => {
  await runtime.startWorkers();
  const portal = await runtime.portals.open('local');
  say(io, `  Redis: ${runtime.redisHandle.describe}`);
  say(io, `  portal: embedded, with a store of its own in ${folder}`);

  say(io, '\n1. Publishing jobs/demo.yaml: three datasets, six tables, one of them faulty on purpose');
  const manifest = await loadManifest(join(ownJobs, 'demo.yaml'));
  const [first] = await publish(runtime, [manifest], {}, io);

  say(io, '2. Dropping one more file into the inbox');
  const dropped = await dropFile(runtime, folder, io);
  if (!first || !dropped) throw new UnfinishedError('a run has no report', { hint: 'run `npm run demo` again' });

  say(io, '\n3. Reading everything back through the API');
  const live = await showLive(portal, [...first.items, ...dropped.items], io);

  say(io, '\n4. What is not live, and why');
  const failed = [...first.items].filter((item) => item.reason !== null);
  for (const item of failed) {
    say(io, `  ${item.key}: ${item.outcome}`);
    if (item.reason) for (const line of reasonLines(item.reason, '    ')) say(io, line);
  }

  say(io, '\n5. Publishing the same manifest again: nothing should be sent');
  const server = runtime.portals.supervisor('local')?.server;
  const before = server?.requests().writes ?? 0;
  const [second] = await publish(runtime, [manifest], {}, io);
  const sent = (server?.requests().writes ?? 0) - before;
  const unchanged = [...(second?.items ?? [])].filter((item) => item.outcome === 'unchanged').length;
  say(io, `  ${plural(unchanged, 'item')} unchanged, ${plural(sent, 'write request')} counted at the portal`);

  const planted = failed.length === 1 && failed[0]?.outcome === 'quarantined';
  const fine = planted && live && sent === 0 && dropped.items.values().every((item) => item.live);
  const wrong = 'Something other than the planted fault went wrong; see above.';
  say(io, `\n${fine ? 'Done: everything is live except the faulty table.' : wrong}`);
  return fine;
};

const dropFile = async (runtime: Runtime, folder: string, io: Io): Promise<StoredReport | undefined> => {
  const path = join(folder, 'inbox.yaml');
  await copyFile(join(ownJobs, 'inbox.yaml'), path);
  const inbox = join(folder, 'inbox', 'city-transport');
  await makeFolder(inbox);
  await copyFile(join(ownJobs, 'demo/boardings.csv'), join(inbox, 'boardings.csv'));
  say(io, '  inbox/city-transport/boardings.csv');
  return (await publish(runtime, [await loadManifest(path)], {}, io))[0];
};

/** Reads each node and counts its rows at the portal; true when what should be live is. */
const showLive = async (portal: Portal, items: ReportItem[], io: Io): Promise<boolean> => {
  const signal = AbortSignal.any([io.stop, AbortSignal.timeout(60_000)]);
  const lines: [string, string, string][] = [];
  let fine = true;
  for (const item of items) {
    if (item.nid === null || item.reason) continue;
    const node = await portal.nodes.read(item.nid, signal);
    const size = item.kind === 'resource' ? await portal.datastore.table(node.uuid, signal) : undefined;
    const rows = size === undefined ? null : (size?.rows ?? 0);
    if (node.status !== '1' || (item.rows !== null && rows !== item.rows)) fine = false;
    const name = item.kind === 'dataset' ? node.title : `  ${node.title}`;
    const { pathname } = new URL(node.path ?? `/node/${node.nid}`, portal.url);
    lines.push([name, rows === null ? '' : String(rows), pathname]);
  }
  for (const line of aligned([['title', 'rows', 'address'], ...lines], [1])) say(io, `  ${line}`);
  return fine && lines.length > 0;
};

export const commands = {
  demo: {
    options: { '--keep': 'keep the portal running to explore it' },
    examples: ['sluice demo --keep'],
    run: demoCommand,
  },
} satisfies CommandDeclarations;
