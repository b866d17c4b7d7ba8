// A folder with everything a run touches (inputs, state, Redis, portal), put back to the same moment before each trial.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { openSwitchboard, type Switchboard } from '../../../src/embedded-portal/faults/switchboard.ts';
import { type PortalServer, startPortalServer } from '../../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../../src/model/log.ts';
import { openReader, type Reader } from '../../flow/support/reader.ts';
import { type Sluice, startSluice } from '../../support/sluice-process.ts';
import type { CrashMode } from './crash-mode.ts';

const preload = fileURLToPath(new URL('../../support/crash-at-point.ts', import.meta.url));
const publisher = { name: 'publisher', password: 'correct-horse-battery', roles: ['administrator'] };

/** Where a process meets its fault; 0 for one that only tells its points. */
export interface Strike {
  at: number;
  mode: CrashMode | '';
}

/** See the head of this file. */
export class CrashSite {
  readonly dir: string;
  readonly #saved: string;
  #switchboard: Switchboard | null = null;
  #portal: PortalServer | null = null;
  #port = 0;
  #server: ChildProcess | null = null;
  #redis: Redis | null = null;
  /** Node that one write of fails once. */
  #retried = '';

  private constructor(root: string) {
    this.dir = join(root, 'now');
    this.#saved = join(root, 'saved');
  }

  /** Publishes the first version and keeps the moment before the second. */
  static async open(): Promise<CrashSite> {
    const site = new CrashSite(mkdtempSync(join(tmpdir(), 'slc-')));
    mkdirSync(site.dir);
    await site.#start();
    site.#writeConfig();
    site.#writeFirst();
    const first = site.publish();
    const code = await first.ended;
    if (code !== 0) throw new Error(`the first publish ended with ${code}:\n${first.out()}\n${first.err()}`);
    await site.#editOnPortal();
    site.#writeSecond();
    await site.redis.save();
    await site.stop();
    cpSync(site.dir, site.#saved, { recursive: true, preserveTimestamps: true });
    return site;
  }

  /** Connection to the Redis of the site. */
  get redis(): Redis {
    if (!this.#redis) throw new Error('the site does not run');
    return this.#redis;
  }

  /** Folder of the store of the portal. */
  get store(): string {
    return join(this.dir, 'store');
  }

  /** Puts everything back, and starts Redis and portal. */
  async restore(): Promise<void> {
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
    cpSync(this.#saved, this.dir, { recursive: true, preserveTimestamps: true });
    await this.#start();
    this.#switchboard?.setPlan({
      seed: 1,
      rules: [{ route: `PUT /api/dataset/node/${this.#retried}`, fault: 'status', status: 503, times: 1 }],
    });
  }

  /** Starts the command that is tried. */
  publish(strike?: Strike): Sluice {
    return this.#sluice(['publish', 'city.yaml', 'inbox.yaml', '--json'], strike);
  }

  /** Ends a pause of the portal. */
  async resume(): Promise<void> {
    const resume = this.#sluice(['resume', 'local'], undefined);
    if ((await resume.ended) !== 0) throw new Error(`resume ended otherwise:\n${resume.out()}\n${resume.err()}`);
  }

  /** Starts a worker and waits until it works, or has been killed. */
  async worker(strike?: Strike): Promise<Sluice> {
    const worker = this.#sluice(['worker'], strike);
    await worker.said('"worker is running"').catch(async (error: unknown) => {
      if ((await worker.ended) !== 'SIGKILL') throw error;
    });
    return worker;
  }

  /** Points that were told since {@link restore}, as `<number> <kind> <what>`. */
  points(): string[] {
    const path = join(this.dir, 'points');
    return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  }

  /** When the fault was made, Unix milliseconds; null before. */
  struckAt(): number | null {
    return statSync(join(this.dir, 'points'), { throwIfNoEntry: false })?.mtimeMs ?? null;
  }

  /** Reads the portal itself, not through the switchboard. */
  reader(): Promise<Reader> {
    return openReader(this.#portal?.url ?? '', publisher.name, publisher.password);
  }

  /** Ends Redis and portal. */
  async stop(): Promise<void> {
    const [server, redis] = [this.#server, this.#redis];
    this.#server = null;
    this.#redis = null;
    redis?.disconnect();
    if (server && server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    await this.#portal?.close();
    this.#portal = null;
  }

  /** Ends everything and removes the folder. */
  async close(): Promise<void> {
    await this.stop();
    await this.#switchboard?.close();
    rmSync(dirname(this.dir), { recursive: true, force: true, maxRetries: 5 });
  }

  get #socket(): string {
    return join(this.dir, 'r');
  }

  #sluice(args: string[], strike: Strike | undefined): Sluice {
    const env = {
      REDIS_URL: `unix://${this.#socket}`,
      ...(strike && {
        CRASH_REDIS: this.#socket,
        CRASH_REDIS_PID: String(this.#server?.pid),
        CRASH_PORTAL: new URL(this.#switchboard?.url ?? '').port,
        CRASH_LOG: join(this.dir, 'points'),
        CRASH_AT: String(strike.at),
        CRASH_HOW: strike.mode.replace(/^worker-/, ''),
      }),
    };
    const all = [...args, '--state', 'state'];
    return startSluice(all, { cwd: this.dir, env, ...(strike && { preload }) });
  }

  async #start(): Promise<void> {
    mkdirSync(join(this.dir, 'redis'), { recursive: true });
    this.#startRedis();
    const log = createLog({ level: 'silent' });
    const users = existsSync(this.store) ? [] : [publisher];
    this.#portal = await startPortalServer({ dataDir: this.store, port: this.#port, users, log });
    this.#port = Number(new URL(this.#portal.url).port);
    this.#switchboard ??= await openSwitchboard({ target: this.#portal.url, plan: null });
    const redis = new Redis({ path: this.#socket, maxRetriesPerRequest: null });
    redis.on('error', () => undefined); // it is killed on purpose in some trials
    this.#redis = redis;
    await redis.ping();
  }

  /** As its supervisor would: a server that ends is started again. */
  #startRedis(): void {
    const binary = process.env.REDIS_SERVER_BIN;
    if (binary === undefined) throw new Error('REDIS_SERVER_BIN is not set');
    const settings = ['--port', '0', '--unixsocket', this.#socket, '--dir', join(this.dir, 'redis')];
    const server = spawn(binary, [...settings, '--appendonly', 'yes', '--save', ''], { stdio: 'ignore' });
    this.#server = server;
    const kill = (): void => void server.kill('SIGKILL');
    process.once('exit', kill);
    server.once('exit', () => {
      process.removeListener('exit', kill);
      if (this.#server === server) this.#startRedis();
    });
  }

  #write(name: string, content: string): void {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  #writeConfig(): void {
    this.#write('config/password', `${publisher.password}\n`);
    chmodSync(join(this.dir, 'config/password'), 0o600);
    const remote = { kind: 'remote', username: publisher.name, password: { file: 'password' }, requestsPerSecond: 0 };
    const config = {
      portals: { local: { ...remote, url: this.#switchboard?.url } },
      inbox: { settle: '100ms' },
    };
    this.#write('config/sluice.yaml', JSON.stringify(config));
  }

  #writeFirst(): void {
    const tables = ['same', 'renamed', 'gone', 'edited', 'faulty', 'retried'].map((id) => dataset(id, ['table']));
    const many = dataset('many', manyOf(0, 12));
    for (const { id, resources } of [...tables, many]) {
      for (const { id: name } of resources) this.#write(`data/${id}/${name}.csv`, table(name, 3));
    }
    this.#writeManifest([...tables, many]);
    this.#write('inbox.yaml', JSON.stringify({ name: 'inbox', portal: 'local', drop: { folder: 'inbox' } }));
    this.#write('inbox/traffic/counts.csv', table('counts', 3));
  }

  async #editOnPortal(): Promise<void> {
    const person = await this.reader();
    const rows = await person.list();
    const nidOf = (title: string): string => rows.find((row) => row.title === title)?.nid ?? '';
    await person.change(nidOf('Dataset edited'), { title: 'Dataset edited by a person' });
    this.#retried = nidOf('Dataset retried');
  }

  #writeSecond(): void {
    const many = dataset('many', [...manyOf(0, 11), ...manyOf(12, 14)]);
    for (const at of [1, 4, 7, 10, 12, 13]) this.#write(`data/many/t${at}.csv`, table(`t${at}`, 5));
    const fresh = dataset('fresh', ['plain', 'made']);
    for (const { id } of fresh.resources) this.#write(`data/fresh/${id}.csv`, table(id, 4));
    Object.assign(fresh.resources[1] ?? {}, { table: [{ select: ['id'] }] });
    this.#write('data/faulty/table.csv', `${table('table', 3)}1,2,3,4\n`);
    this.#writeManifest([
      dataset('same', ['table']),
      { ...dataset('renamed', ['table']), title: 'Dataset renamed, with a new title' },
      { ...dataset('edited', ['table']), title: 'Dataset edited, with a new title' },
      dataset('faulty', ['table']),
      { ...dataset('retried', ['table']), title: 'Dataset retried, with a new title' },
      many,
      { ...fresh, tags: ['new'] },
    ]);
    this.#write('inbox/traffic/counts.csv', table('counts', 6));
    this.#write('inbox/traffic/bikes.csv', table('bikes', 2));
    this.#write('inbox/traffic/bad.csv', `${table('bad', 2)}1,2,3,4\n`);
  }

  #writeManifest(datasets: object[]): void {
    this.#write('city.yaml', JSON.stringify({ name: 'city', portal: 'local', onMissing: 'delete', datasets }));
  }
}

const manyOf = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `t${from + at}`);

const dataset = (id: string, resources: string[]) => ({
  id,
  title: `Dataset ${id}`,
  tags: ['open'],
  resources: resources.map((name) => ({ id: name, title: `Table ${name} of ${id}`, file: `data/${id}/${name}.csv` })),
});

const table = (name: string, rows: number): string =>
  `id,name\n${Array.from({ length: rows }, (_, row) => `${row},${name}`).join('\n')}\n`;
