// The embedded portal beside bare servers in the same run: node:http with the same JSON, one fsynced SQLite transaction
// for each request, the raw body to disk.
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from './options.ts';
import { bytesOf, Connection, perSecond, type Shot } from './support/load.ts';
import { type ServerProcess, startPortal, startServer } from './support/processes.ts';
import { account, makeWorkload, type Workload } from './support/workload.ts';

const bareServer = fileURLToPath(new URL('./support/bare-server.ts', import.meta.url));
const json = { accept: 'application/json', 'content-type': 'application/json' };
const seconds = 3;

/** A contestant and how it is asked, session and all. */
interface Contestant {
  server: ServerProcess;
  headers: Record<string, string>;
}

interface Rate {
  rate: number;
  /** Processor milliseconds of the server for each request. */
  cpuMs: number;
}

/** Runs every comparison `rounds` times, the contestants in turn, and shows medians. */
export const run = async ({ megabytes, rounds }: BenchOptions): Promise<void> => {
  const workload = await makeWorkload(1);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-portal-'));
  const rates = new Map<string, Rate[]>();
  const note = (name: string, rate: Rate): void => void rates.set(name, [...(rates.get(name) ?? []), rate]);
  const sizes: Upload[] = [];
  try {
    for (let round = 0; round < Math.max(1, rounds); round++) {
      const here = join(folder, String(round));
      await mkdir(here);
      await requests(workload, here, note);
      sizes.push(await uploads(workload, here, Math.min(megabytes, 500)));
    }
  } finally {
    for (const path of [folder, workload.folder]) await rm(path, { recursive: true, force: true });
  }
  show(rates, sizes);
};

const measure = async (
  { server }: Contestant,
  once: (connection: Connection, number: number) => Promise<unknown>,
  connections = 20,
): Promise<Rate> => {
  await perSecond(server.url, { connections, seconds: 1 }, once);
  const [cpu, begun] = [server.cpu(), performance.now()];
  const rate = await perSecond(server.url, { connections, seconds }, once);
  const ended = (performance.now() - begun) / 1000;
  return { rate, cpuMs: ((server.cpu() - cpu) / (rate * ended)) * 1000 };
};

const repeat = (contestant: Contestant, shot: Shot): Promise<Rate> => {
  const bytes = bytesOf(contestant.server.url, { ...shot, headers: { ...contestant.headers, ...shot.headers } });
  return measure(contestant, (connection) => connection.send(bytes));
};

const ask = async ({ server, headers }: Contestant, shot: Shot): Promise<Record<string, unknown>> => {
  const connection = new Connection(server.url);
  const answer = await connection.send(bytesOf(server.url, { ...shot, headers: { ...headers, ...shot.headers } }));
  connection.close();
  return JSON.parse(answer.toString('utf8')) as Record<string, unknown>; // our own servers
};

const enter = async (server: ServerProcess): Promise<Contestant> => {
  const body = JSON.stringify({ username: account.name, password: account.password });
  const login = await ask({ server, headers: json }, { method: 'POST', path: '/api/dataset/user/login', body });
  return {
    server,
    headers: { ...json, cookie: `${login.session_name}=${login.sessid}`, 'x-csrf-token': String(login.token) },
  };
};

const dataset = (number: number): string =>
  JSON.stringify({
    type: 'dataset',
    title: `Dataset ${number}`,
    body: { und: [{ value: `Benchmark dataset ${number}`, format: 'plain_text' }] },
    field_author: { und: [{ value: 'Statistics office' }] },
    field_license: { und: [{ value: 'cc-by' }] },
  });

const resource = (title: string, target: unknown): string =>
  JSON.stringify({ type: 'resource', title, field_dataset_ref: { und: [{ target_id: target }] } });

const form = (name: string, content: Buffer): Pick<Shot, 'headers'> & { body: Buffer } => {
  const boundary = 'bench-boundary-7d1c0a';
  const part = (key: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${key}"\r\n\r\n${value}\r\n`;
  const head = `${part('attach', '0')}${part('field_name', 'field_upload')}--${boundary}\r\ncontent-disposition: form-data; name="files[1]"; filename="${name}"\r\ncontent-type: text/csv\r\n\r\n`;
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  };
};

const requests = async (
  workload: Workload,
  folder: string,
  note: (name: string, rate: Rate) => void,
): Promise<void> => {
  const server = await startPortal(join(folder, 'portal'), workload.users, profiling());
  const bare: Contestant = { server: await startServer(bareServer, ['json']), headers: json };
  const sqlite: Contestant = { server: await startServer(bareServer, ['sqlite', folder]), headers: json };
  try {
    const portal = await enter(server);
    const table = await readFile(workload.tables[0] ?? '');
    const nodePath = '/api/dataset/node';
    for (let number = 0; number < 50; number++) {
      await ask(portal, { method: 'POST', path: nodePath, body: dataset(number) });
    }
    for (const [name, path] of [
      ['read', `${nodePath}/7`],
      ['list', nodePath],
    ] as const) {
      const value = JSON.stringify(await ask(portal, { method: 'GET', path }));
      await ask(bare, { method: 'PUT', path, body: value });
      note(`${name} bare`, await repeat(bare, { method: 'GET', path }));
      note(name, await repeat(portal, { method: 'GET', path }));
    }
    for (const [name, shot] of [
      ['create', { method: 'POST', path: nodePath }],
      ['update', { method: 'PUT', path: `${nodePath}/7` }],
    ] as const) {
      // Every title is another one, as they are in life.
      const once =
        ({ server: { url }, headers }: Contestant) =>
        (connection: Connection, number: number) =>
          connection.send(bytesOf(url, { ...shot, headers, body: dataset(number) }));
      note(`${name} bare`, await measure(bare, once(bare)));
      note(`${name} sqlite`, await measure(sqlite, once(sqlite)));
      note(name, await measure(portal, once(portal)));
    }
    await attaches(portal, table, note);
  } finally {
    for (const one of [server, bare.server, sqlite.server]) await one.stop();
  }
};

/** Attaches of 20 kB, and what a worker does all day: dataset, resource, table of 200 rows, 8 at once. */
const attaches = async (portal: Contestant, table: Buffer, note: (name: string, rate: Rate) => void): Promise<void> => {
  const { url } = portal.server;
  const nodePath = '/api/dataset/node';
  const post = (connection: Connection, shot: Omit<Shot, 'method'>): Promise<Buffer> =>
    connection.send(bytesOf(url, { method: 'POST', ...shot, headers: { ...portal.headers, ...shot.headers } }));
  const nidOf = (answer: Buffer): unknown => (JSON.parse(answer.toString('utf8')) as { nid: unknown }).nid; // our portal
  const twice = Buffer.concat([table, table.subarray(table.indexOf('\n') + 1)]);
  const nids: unknown[] = [];
  for (let number = 0; number < 20; number++) {
    const made = await ask(portal, { method: 'POST', path: nodePath, body: resource(`Table ${number}`, '7') });
    nids.push(made.nid);
  }
  note(
    `attach ${Math.round(twice.length / 1000)} kB`,
    await measure(portal, (connection, number) =>
      post(connection, { path: `${nodePath}/${nids[number % nids.length]}/attach_file`, ...form('table.csv', twice) }),
    ),
  );
  note(
    'publish path',
    await measure(
      portal,
      async (connection, number) => {
        const parent = nidOf(await post(connection, { path: nodePath, body: dataset(number) }));
        const made = nidOf(await post(connection, { path: nodePath, body: resource(`Table ${number}`, parent) }));
        await post(connection, { path: `${nodePath}/${made}/attach_file`, ...form(`table-${number}.csv`, table) });
      },
      8,
    ),
  );
};

interface Upload {
  portal: number;
  bare: number;
  memory: number;
}

/** Sends zeros in blocks; resolves with the seconds until the answer. */
const stream = (url: string, { method, path, headers, parts }: Shot & { parts: [Buffer, number, Buffer] }) =>
  new Promise<number>((resolve, reject) => {
    const [head, bytes, tail] = parts;
    const block = Buffer.alloc(1_000_000, 'abcdefghij');
    const begun = performance.now();
    const call = request(
      new URL(path, url),
      { method, headers: { ...headers, 'content-length': head.length + bytes + tail.length } },
      (reply) => {
        reply.resume().on('end', () => {
          if (reply.statusCode === 200) resolve((performance.now() - begun) / 1000);
          else reject(new Error(`upload: ${reply.statusCode} ${reply.statusMessage}`));
        });
      },
    );
    call.on('error', reject);
    call.write(head);
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        left -= block.length;
        if (!call.write(block)) {
          call.once('drain', more);
          return;
        }
      }
      call.end(tail);
    };
    more();
  });

const uploads = async (workload: Workload, folder: string, megabytes: number): Promise<Upload> => {
  const bytes = megabytes * 1_000_000;
  const none = Buffer.alloc(0);
  const bare = await startServer(bareServer, ['body', folder]);
  const bareSeconds = await stream(bare.url, { method: 'PUT', path: '/', parts: [none, bytes, none] });
  await bare.stop();
  const server = await startPortal(join(folder, 'upload'), workload.users);
  try {
    const portal = await enter(server);
    const made = await ask(portal, { method: 'POST', path: '/api/dataset/node', body: resource('Large', undefined) });
    const { headers, body } = form('large.zip', Buffer.from('\0'));
    const mark = body.indexOf('\0');
    const send = (size: number) =>
      stream(server.url, {
        method: 'POST',
        path: `/api/dataset/node/${made.nid}/attach_file`,
        headers: { ...portal.headers, ...headers },
        parts: [body.subarray(0, mark), size, body.subarray(mark + 1)],
      });
    await send(10_000_000);
    const before = server.peak();
    const portalSeconds = await send(bytes);
    return { portal: megabytes / portalSeconds, bare: megabytes / bareSeconds, memory: server.peak() - before };
  } finally {
    await server.stop();
  }
};

/** `BENCH_PROFILE=<folder>` writes a processor profile of the portal there. */
const profiling = (): string[] =>
  process.env.BENCH_PROFILE === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`];

const middle = (list: number[]): number => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;

const show = (rates: Map<string, Rate[]>, sizes: Upload[]): void => {
  const write = (text: string): void => void process.stdout.write(`${text}\n`);
  const rateOf = (name: string): number => middle((rates.get(name) ?? []).map(({ rate }) => rate));
  for (const [name, list] of rates) {
    const cpu = middle(list.map(({ cpuMs }) => cpuMs)).toFixed(2);
    write(`${name.padEnd(16)} ${rateOf(name).toFixed(0).padStart(7)}/s   server CPU ${cpu.padStart(6)} ms each`);
  }
  // Each ratio within one round, where the machine was the same for both.
  const ratio = (name: string, base: string): string =>
    middle((rates.get(name) ?? []).map(({ rate }, round) => rate / (rates.get(base)?.[round]?.rate ?? 0))).toFixed(2);
  write(`read ${ratio('read', 'read bare')} and list ${ratio('list', 'list bare')} of bare node:http (mark 0.5)`);
  write(
    `create ${rateOf('create').toFixed(0)}/s (mark 1500), ${ratio('create', 'create sqlite')} of one bare fsynced transaction a request (mark 0.7); update ${ratio('update', 'update sqlite')}`,
  );
  const uploadRatio = middle(sizes.map(({ portal, bare }) => portal / bare));
  write(
    `upload ${middle(sizes.map(({ portal }) => portal)).toFixed(0)} MB/s, ${uploadRatio.toFixed(2)} of the raw body to disk (mark 0.6); memory ${middle(sizes.map(({ memory }) => memory))} MB more than for 10 MB`,
  );
};
