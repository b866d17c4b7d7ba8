// Plays the recorded exchanges of deployed portals against our own portal under the profile of that release.
// `npm run replay [-- PROFILE…] [-- --diff FILE]`; needs the shared folder (`SLUICE_SHARED`, default ../shared).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { dump, load } from 'js-yaml';
import { hashPassword } from '../src/embedded-portal/password.ts';
import type { ProfileName } from '../src/embedded-portal/portal.ts';
import { type PortalServer, startPortalServer } from '../src/embedded-portal/portal-server.ts';
import { createLog } from '../src/model/log.ts';

/** The folder that holds tool and recordings. */
export const sharedFolder = resolve(process.env.SLUICE_SHARED ?? join(import.meta.dirname, '../../shared'));

/** The profiles that have recordings, with the least share of equal exchanges. */
export const replayed = {
  'dkan-7.18.16': { folder: '7.18.16', least: 0.97 },
  'dkan-7.18': { folder: '7.18', least: 0.99 },
  'dkan-7.14': { folder: '7.14', least: 0.99 },
};

/** A profile of {@link replayed}. */
export type ReplayedProfile = keyof typeof replayed;

/** The profiles whose recordings are present. */
export const playable = (): ReplayedProfile[] =>
  (Object.keys(replayed) as ReplayedProfile[]).filter((profile) =>
    existsSync(join(sharedFolder, 'spec/recordings', replayed[profile].folder)),
  );

/** What a replay came to. */
export interface ReplayResult {
  compared: number;
  equal: number;
  /** Equal exchanges of those compared. */
  share: number;
  /** Scenario and step of each exchange that is not equal, with what differs. */
  differences: { scenario: string; step: number; label: string; verdict: string; differences: string[] }[];
}

/** True where tool and recordings are present. */
export const canReplay = (): boolean =>
  existsSync(join(sharedFolder, 'tools/replay/replay.mjs')) && existsSync(join(sharedFolder, 'spec/recordings'));

interface SeedUsers {
  users: { password: string }[];
}

/** The seed with its passwords hashed once, so that a fresh portal costs no hashing. */
const hashedSeed = async (folder: string, dir: string): Promise<string> => {
  const text = readFileSync(join(sharedFolder, `spec/recordings/seed-${folder}.yaml`), 'utf8');
  const seed = load(text) as SeedUsers; // read again, and checked, by the portal
  for (const user of seed.users) user.password = await hashPassword(user.password);
  const path = join(dir, 'seed.yaml');
  writeFileSync(path, dump(seed));
  return path;
};

/** Serves a portal that is replaced by an empty one whenever the control address is asked. */
class FreshPortal {
  readonly #profile: ProfileName;
  readonly #seedFile: string;
  readonly #dir: string;
  #server: PortalServer | null = null;
  #port = 0;
  #count = 0;

  constructor(profile: ProfileName, seedFile: string, dir: string) {
    this.#profile = profile;
    this.#seedFile = seedFile;
    this.#dir = dir;
  }

  async fresh(): Promise<string> {
    await this.close();
    this.#count += 1;
    this.#server = await startPortalServer({
      dataDir: join(this.#dir, String(this.#count)),
      port: this.#port,
      profile: this.#profile,
      seedFile: this.#seedFile,
      log: createLog({ level: 'silent' }),
    });
    this.#port = Number(new URL(this.#server.url).port);
    return this.#server.url;
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }
}

const control = async (portal: FreshPortal): Promise<Server> => {
  const server = createServer((_request, reply) => {
    portal.fresh().then(
      () => reply.end('fresh\n'),
      (error: unknown) => reply.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

const runTool = async (args: string[]): Promise<string> => {
  const child = spawn(process.execPath, [join(sharedFolder, 'tools/replay/replay.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  return Buffer.concat(chunks).toString('utf8');
};

/** Plays every recording of a profile's release; each scenario starts on an empty, seeded portal. */
export const replay = async (profile: ReplayedProfile): Promise<ReplayResult> => {
  const { folder } = replayed[profile];
  const dir = mkdtempSync(join(tmpdir(), 'sluice-replay-'));
  const portal = new FreshPortal(profile, await hashedSeed(folder, dir), dir);
  const base = await portal.fresh();
  const controller = await control(portal);
  const address = `http://127.0.0.1:${(controller.address() as AddressInfo).port}/`; // it listens on TCP
  const recordings = join(sharedFolder, 'spec/recordings', folder);
  const diff = join(dir, 'diff.jsonl');
  try {
    const script = `fetch(${JSON.stringify(address)}).then((r)=>process.exit(r.ok?0:1))`;
    const report = await runTool([
      ...['--base', base, '--profile', profile, '--json', '--diff', diff],
      ...['--fresh', `'${process.execPath}' -e '${script}'`],
      ...readdirSync(recordings)
        .filter((name) => name.endsWith('.json'))
        .map((name) => join(recordings, name)),
    ]);
    const { totals } = JSON.parse(report) as { totals: { compared: number; verdicts: { equal: number } } }; // the tool's --json
    const { compared, verdicts } = totals;
    const differences = readFileSync(diff, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ReplayResult['differences'][number]); // the tool's --diff
    return { compared, equal: verdicts.equal, share: verdicts.equal / compared, differences };
  } finally {
    controller.close();
    await portal.close();
    rmSync(dir, { recursive: true, force: true });
  }
};

const main = async (): Promise<void> => {
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  if (!canReplay()) {
    say(`no recordings at ${sharedFolder}; set SLUICE_SHARED to the folder that has tools/replay and spec/recordings`);
    return;
  }
  const wanted = process.argv.slice(2);
  for (const profile of playable()) {
    if (wanted.length > 0 && !wanted.includes(profile)) continue;
    const { compared, equal, share, differences } = await replay(profile);
    for (const { scenario, step, label, differences: found } of differences) {
      say(`${scenario} ${step} ${label}: ${found.slice(0, 3).join('; ')}`);
    }
    const { least } = replayed[profile];
    say(
      `${profile}: ${equal} of ${compared} exchanges equal (${(100 * share).toFixed(2)} %, at least ${100 * least} %)`,
    );
    if (share < least) process.exitCode = 1;
  }
};

if (import.meta.main) await main();
